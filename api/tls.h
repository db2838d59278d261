/* The certificate and key of the TCP listeners, which may be renewed while the daemon runs. */
#ifndef API_TLS_H
#define API_TLS_H
#include "common/error.h"

struct tls {
    const char *certificate_file, *key_file;
    struct tls_pair *current; /* NULL for no TLS */
};

/* Reads both files (paths are borrowed; both are NULL for no TLS). The key must belong to this user or root, be closed
 * to everybody else, and fit the certificate. Fails with code "tls_unusable". */
int tls_load(struct tls *tls, const char *certificate_file, const char *key_file, struct error *err);
/* Reads them again. After a failure the former ones stay in use. */
int tls_reload(struct tls *tls, struct error *err);
void tls_fini(struct tls *tls); /* leaves no key in memory */

/* Returns the value for MHD_OPTION_HTTPS_CERT_CALLBACK. That function has no argument of ours, so that it serves the
 * one `tls` that was loaded last. (GnuTLS' own types stay in tls.c, because its header has a `params`, too.) */
void *tls_retriever(void);
#endif
