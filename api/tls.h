/* The certificate and key of the TCP listeners, which may be renewed while the daemon runs. */
#ifndef API_TLS_H
#define API_TLS_H
#include "common/error.h"

struct tls {
    const char *certificate_file, *key_file;
    struct tls_pair *current; /* NULL: no TLS */
};

/* Read both files (paths borrowed; NULL both: no TLS). The key must belong to this user or root, be closed to everyone
 * else, and be the certificate's. Code "tls_unusable". */
int tls_load(struct tls *tls, const char *certificate_file, const char *key_file, struct error *err);
/* Read them again; on failure what there was goes on. */
int tls_reload(struct tls *tls, struct error *err);
void tls_fini(struct tls *tls); /* leaves no key behind in memory */

/* The value for MHD_OPTION_HTTPS_CERT_CALLBACK, which takes a function without an argument of ours: it serves the one
 * `tls` that was loaded last. (GnuTLS' own types stay in tls.c: its header has a `params` of its own.) */
void *tls_retriever(void);
#endif
