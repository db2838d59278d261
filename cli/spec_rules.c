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

static char *path_of(const char *folder, const char *name)
{
    return name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
}

static int digest(const char *path, char hex[HEX_SIZE])
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

static int settle_files(json_t *rules, const char *folder, const char *at, bool *changed, struct error *err)
{
    json_t *files = json_object_get(rules, "files"), *file;
    char hex[HEX_SIZE], place[64];
    size_t i;

    json_array_foreach (files, i, file) {
        char *path;
        int rc;

        if (!json_is_string(file))
            continue;
        path = path_of(folder, json_string_value(file));
        rc = digest(path, hex);
        snprintf(place, sizeof place, "%s/files/%zu", at, i);
        if (rc < 0) {
            error_errno(err, CODE, "%s: %s", place, path);
            free(path);
            return -1;
        }
        free(path);
        json_array_set_new(files, i, json_pack("{s:O, s:s}", "path", file, "sha256", hex));
        *changed = true;
    }
    return 0;
}

/* Reads the reference that a file has. */
static int settle_reference(json_t *rules, const char *name, const char *folder, struct error *err)
{
    char *path = path_of(folder, name), *slash = strrchr(path, '/');
    json_error_t where;
    json_t *reference = json_load_file(path, JSON_REJECT_DUPLICATES, &where), *own;
    bool changed;
    int rc = 0;

    if (reference == NULL && where.line > 0)
        rc = error_set(err, CODE, "%s:%d:%d: %s", path, where.line, where.column, where.text);
    else if (reference == NULL)
        rc = error_set(err, CODE, "/rules/reference: %s", where.text);
    own = json_object_get(reference, "rules");
    if (slash == path)
        slash++;
    *slash = '\0';
    if (rc == 0 && own != NULL)
        rc = settle_files(own, path, "/rules/reference/rules", &changed, err);
    if (rc == 0 && json_is_object(own) && json_object_get(own, "reference") != NULL) {
        json_object_del(own, "reference"); /* the reference of a reference says nothing */
        json_object_del(own, "may_vary");
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
    return settle_files(rules, folder, "/rules", changed, err);
}
