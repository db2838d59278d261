#include "cli/spec_rules.h"

#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODE "spec_file"
#define CHUNK ((size_t)1 << 20)
#define HEX_SIZE (2 * crypto_hash_sha256_BYTES + 1)

static char *path_in_folder(const char *folder, const char *name)
{
    return name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
}

static int digest_file(const char *path, char hex[HEX_SIZE])
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    unsigned char sum[crypto_hash_sha256_BYTES], *chunk;
    crypto_hash_sha256_state state;
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    chunk = xcalloc(1, CHUNK);
    crypto_hash_sha256_init(&state);
    while ((n = read(fd, chunk, CHUNK)) > 0)
        crypto_hash_sha256_update(&state, chunk, (unsigned long long)n);
    crypto_hash_sha256_final(&state, sum);
    free(chunk);
    close(fd);
    sodium_bin2hex(hex, HEX_SIZE, sum, sizeof sum);
    return n < 0 ? -1 : 0;
}

/* Adds where a file lies, and, if the spec only names it, its present SHA-256. */
static int settle_file(json_t *files, size_t i, const char *folder, bool *changed, struct error *err)
{
    json_t *file = json_array_get(files, i), *named = json_is_string(file) ? file : json_object_get(file, "path");
    char hex[HEX_SIZE], *path;
    int rc = 0;

    if (!json_is_string(named) || json_object_get(file, "at") != NULL)
        return 0; /* the daemon judges it */
    path = path_in_folder(folder, json_string_value(named));
    if (json_is_object(file)) {
        json_object_set_new(file, "at", json_string(path));
    } else if (digest_file(path, hex) < 0) {
        rc = error_errno(err, CODE, "/rules/files/%zu: %s", i, path);
    } else {
        json_array_set_new(files, i, json_pack("{s:O, s:s, s:s}", "path", named, "sha256", hex, "at", path));
    }
    *changed = true;
    free(path);
    return rc;
}

static int settle_files(json_t *rules, const char *folder, bool *changed, struct error *err)
{
    json_t *files = json_object_get(rules, "files");

    for (size_t i = 0; i < json_array_size(files); i++)
        if (settle_file(files, i, folder, changed, err) < 0)
            return -1;
    return 0;
}

/* Checks that a reference has the SHA-256 of its files: the present ones could be those of any program. */
static int check_reference_files(const json_t *rules, const char *path, struct error *err)
{
    const json_t *file;
    size_t i;

    json_array_foreach (json_object_get(rules, "files"), i, file)
        if (json_is_string(file))
            return error_set(err, CODE,
                             "/rules/reference: %s does not say the SHA-256 of \"%s\", and that of now proves nothing. "
                             "Submit the reference, and name its ensemble: \"reference\": ID. Or use the file that "
                             "`stretto spec ID` prints then",
                             path, json_string_value(file));
    return 0;
}

/* Reads the reference that a file has. */
static int settle_reference(json_t *rules, const char *name, const char *folder, struct error *err)
{
    char *path = path_in_folder(folder, name);
    json_error_t where;
    json_t *reference = json_load_file(path, JSON_REJECT_DUPLICATES, &where), *own;
    int rc = 0;

    if (reference == NULL && where.line > 0)
        rc = error_set(err, CODE, "%s:%d:%d: %s", path, where.line, where.column, where.text);
    else if (reference == NULL)
        rc = error_set(err, CODE, "/rules/reference: %s", where.text);
    own = json_object_get(reference, "rules");
    if (rc == 0)
        rc = check_reference_files(own, path, err);
    if (rc == 0 && json_is_object(own) && json_object_get(own, "reference") != NULL) {
        json_t *may_vary = json_object_get(json_object_get(json_object_get(own, "reference"), "rules"), "may_vary");

        if (may_vary != NULL)
            json_object_set(own, "may_vary", may_vary); /* it is as free as its own reference lets it be */
        json_object_del(own, "reference");
        json_object_del(own, "reference_ensemble");
    }
    if (rc == 0)
        json_object_set(rules, "reference", reference);
    json_decref(reference);
    free(path);
    return rc;
}

int spec_rules_settle(json_t *spec, const char *folder, bool *changed, struct error *err)
{
    json_t *rules = json_object_get(spec, "rules"), *reference = json_object_get(rules, "reference");

    if (!json_is_object(rules))
        return 0;
    if (json_is_string(reference)) {
        char *name = xstrdup(json_string_value(reference));
        int rc = settle_reference(rules, name, folder, err);

        free(name);
        if (rc < 0)
            return -1;
        *changed = true;
    }
    return settle_files(rules, folder, changed, err);
}
