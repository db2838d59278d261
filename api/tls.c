#include "api/tls.h"

#include "common/files.h"
#include "common/safe_path.h"
#include "common/xalloc.h"

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEM_MAX (1u << 20)
#define CHAIN_MAX 16 /* certificates of a chain */

/* Checks that nobody else can replace the file, since they could then pretend to be this daemon. */
static int check_place(const char *path, const char *setting, struct error *err)
{
    struct error why;

    return safe_path(path, &why) == 0 ? 0 : error_set(err, "tls_unusable", "%s: %s", setting, why.text);
}

static int check_key_file(const char *path, struct error *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return error_errno(err, "tls_unusable", "tls_key %s", path);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, "tls_unusable", "tls_key %s belongs to another user", path);
    if ((st.st_mode & 077) != 0)
        return error_set(err, "tls_unusable", "tls_key %s is open to others (mode %04o): chmod 600 it", path,
                         (unsigned)st.st_mode & 07777);
    return check_place(path, "tls_key", err);
}

/* A pair is a certificate chain and its key. One that has been replaced is kept until the end, because handshakes under
 * way may use it, and renewals are rare. */
struct tls_pair {
    struct tls_pair *former;
    gnutls_pcert_st *chain;
    unsigned n_chain;
    gnutls_privkey_t key;
};

static const struct tls *loaded;

static void free_pair(struct tls_pair *pair)
{
    for (unsigned i = 0; i < pair->n_chain; i++)
        gnutls_pcert_deinit(&pair->chain[i]);
    gnutls_free(pair->chain);
    if (pair->key != NULL)
        gnutls_privkey_deinit(pair->key);
    free(pair);
}

static int parse_chain(struct tls_pair *pair, const char *path, const char *text, size_t size, struct error *err)
{
    gnutls_datum_t data = {(unsigned char *)text, (unsigned)size};
    int rc;

    pair->chain = gnutls_calloc(CHAIN_MAX, sizeof *pair->chain);
    pair->n_chain = CHAIN_MAX;
    rc = pair->chain != NULL
             ? gnutls_pcert_list_import_x509_raw(pair->chain, &pair->n_chain, &data, GNUTLS_X509_FMT_PEM, 0)
             : GNUTLS_E_MEMORY_ERROR;
    if (rc >= 0 && pair->n_chain > 0)
        return 0;
    pair->n_chain = 0;
    return error_set(err, "tls_unusable", "tls_certificate %s: %s", path,
                     rc < 0 ? gnutls_strerror(rc) : "there is none in it");
}

static bool is_key_of(gnutls_privkey_t key, const gnutls_pcert_st *certificate)
{
    unsigned char wanted[64], got[64];
    size_t wanted_size = sizeof wanted, got_size = sizeof got;
    gnutls_pubkey_t public;
    bool same;

    if (gnutls_pubkey_init(&public) < 0)
        return false;
    same = gnutls_pubkey_import_privkey(public, key, 0, 0) >= 0 &&
           gnutls_pubkey_get_key_id(public, 0, got, &got_size) >= 0 &&
           gnutls_pubkey_get_key_id(certificate->pubkey, 0, wanted, &wanted_size) >= 0 && got_size == wanted_size &&
           memcmp(got, wanted, got_size) == 0;
    gnutls_pubkey_deinit(public);
    return same;
}

static int parse_key(struct tls_pair *pair, const char *path, const char *text, size_t size, struct error *err)
{
    gnutls_datum_t data = {(unsigned char *)text, (unsigned)size};
    int rc = gnutls_privkey_init(&pair->key);

    if (rc >= 0)
        rc = gnutls_privkey_import_x509_raw(pair->key, &data, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (rc < 0)
        return error_set(err, "tls_unusable", "tls_key %s: %s", path, gnutls_strerror(rc));
    if (!is_key_of(pair->key, &pair->chain[0]))
        return error_set(err, "tls_unusable", "tls_key %s is not the key of the first certificate", path);
    return 0;
}

int tls_reload(struct tls *tls, struct error *err)
{
    struct tls_pair *pair;
    char *certificate = NULL, *key = NULL;
    size_t size, key_size = 0;
    struct error why;
    int rc = -1;

    if (tls->certificate_file == NULL)
        return 0;
    if (check_key_file(tls->key_file, err) < 0 || check_place(tls->certificate_file, "tls_certificate", err) < 0)
        return -1;
    pair = xcalloc(1, sizeof *pair);
    if (file_read(tls->certificate_file, PEM_MAX, &certificate, &size, &why) < 0 ||
        file_read(tls->key_file, PEM_MAX, &key, &key_size, &why) < 0)
        error_set(err, "tls_unusable", "%s", why.text);
    else if (parse_chain(pair, tls->certificate_file, certificate, size, err) == 0 &&
             parse_key(pair, tls->key_file, key, key_size, err) == 0)
        rc = 0;
    if (key != NULL)
        sodium_memzero(key, key_size);
    free(key);
    free(certificate);
    if (rc < 0) {
        free_pair(pair);
        return -1;
    }
    pair->former = tls->current;
    tls->current = pair;
    loaded = tls;
    return 0;
}

int tls_load(struct tls *tls, const char *certificate_file, const char *key_file, struct error *err)
{
    *tls = (struct tls){certificate_file, key_file, NULL};
    if (certificate_file == NULL && key_file == NULL)
        return 0;
    if (certificate_file == NULL || key_file == NULL) {
        tls->certificate_file = NULL;
        return error_set(err, "tls_unusable", "tls_certificate and tls_key are needed together; %s is missing",
                         certificate_file == NULL ? "tls_certificate" : "tls_key");
    }
    if (MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK) != MHD_YES)
        return error_set(err, "tls_unusable", "this machine's libmicrohttpd was built without TLS");
    return tls_reload(tls, err);
}

static int retrieve(gnutls_session_t session, const gnutls_datum_t *issuers, int n_issuers,
                    const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **chain,
                    unsigned *n_chain, gnutls_privkey_t *key)
{
    if (loaded == NULL || loaded->current == NULL)
        return -1;
    *chain = loaded->current->chain;
    *n_chain = loaded->current->n_chain;
    *key = loaded->current->key;
    return 0;
}

void *tls_retriever(void)
{
    return (void *)retrieve;
}

void tls_fini(struct tls *tls)
{
    struct tls_pair *former;

    for (struct tls_pair *pair = tls->current; pair != NULL; pair = former) {
        former = pair->former;
        free_pair(pair);
    }
    tls->current = NULL;
    if (loaded == tls)
        loaded = NULL;
}
