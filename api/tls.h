/* The certificate and key of the TCP listeners. */
#ifndef API_TLS_H
#define API_TLS_H
#include "common/error.h"

struct tls {
    char *certificate, *key; /* PEM texts; NULL: no TLS */
};

/* Read both files. The key must belong to this user or root, and be closed to everyone else. Code "tls_unusable". */
int tls_load(struct tls *tls, const char *certificate_file, const char *key_file, struct error *err);
void tls_fini(struct tls *tls); /* leaves no key behind in memory */
#endif
