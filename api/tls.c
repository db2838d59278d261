#include "api/tls.h"

#include "common/files.h"

#include <microhttpd.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEM_MAX (1u << 20)

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
    return 0;
}

int tls_load(struct tls *tls, const char *certificate_file, const char *key_file, struct error *err)
{
    struct error why;
    size_t size;

    *tls = (struct tls){NULL, NULL};
    if (certificate_file == NULL && key_file == NULL)
        return 0;
    if (certificate_file == NULL || key_file == NULL)
        return error_set(err, "tls_unusable", "tls_certificate and tls_key are needed together; %s is missing",
                         certificate_file == NULL ? "tls_certificate" : "tls_key");
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return error_set(err, "tls_unusable", "this machine's libmicrohttpd was built without TLS");
    if (check_key_file(key_file, err) < 0)
        return -1;
    if (file_read(certificate_file, PEM_MAX, &tls->certificate, &size, &why) < 0 ||
        file_read(key_file, PEM_MAX, &tls->key, &size, &why) < 0) {
        tls_fini(tls);
        return error_set(err, "tls_unusable", "%s", why.text);
    }
    return 0;
}

void tls_fini(struct tls *tls)
{
    if (tls->key != NULL)
        sodium_memzero(tls->key, strlen(tls->key));
    free(tls->key);
    free(tls->certificate);
    *tls = (struct tls){NULL, NULL};
}
