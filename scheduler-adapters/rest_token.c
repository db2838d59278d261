#include "scheduler-adapters/rest.h"

#include "common/safe_path.h"
#include "common/xalloc.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_MAX 16384

static int check_token_file(const char *path, const struct stat *st, struct error *err)
{
    if (!S_ISREG(st->st_mode))
        return error_set(err, "token_file", "%.300s is no file", path);
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return error_set(err, "token_file", "%.300s belongs to another user: it is not taken for our token", path);
    if ((st->st_mode & 077) != 0)
        return error_set(err, "token_file",
                         "%.300s can be used by others (mode %04o): a token's file is to have mode 0600", path,
                         (unsigned)st->st_mode & 07777);
    return safe_path(path, err);
}

/* Returns the token from "SLURM_JWT=eyJ…\n", as scontrol prints it, or from the bare token. */
static char *word_of(char *text)
{
    char *at = text + strspn(text, " \t\r\n"), *equals;
    size_t n = strcspn(at, " \t\r\n");

    if (at[n + strspn(at + n, " \t\r\n")] != '\0')
        return NULL;
    at[n] = '\0';
    equals = strchr(at, '=');
    if (equals != NULL && equals[1] != '\0' && equals[1] != '=') /* an equals sign at the end is padding of base64 */
        at = equals + 1;
    for (const char *c = at; *c != '\0'; c++)
        if ((unsigned char)*c < '!' || (unsigned char)*c > '~')
            return NULL;
    return *at != '\0' ? at : NULL;
}

int rest_token_read(const char *path, char **out, struct error *err)
{
    char text[TOKEN_MAX + 1], *word;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = -1;
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return error_errno(err, "token_file", "%.300s", path);
    if (fstat(fd, &st) < 0) {
        error_errno(err, "token_file", "%.300s", path);
    } else if (check_token_file(path, &st, err) == 0) {
        n = read(fd, text, TOKEN_MAX);
        if (n < 0) {
            error_errno(err, "token_file", "%.300s", path);
        } else {
            text[n] = '\0';
            word = word_of(text);
            if (word != NULL)
                *out = xstrdup(word);
            rc = word != NULL ? 0 : error_set(err, "token_file", "%.300s holds no token", path);
        }
        explicit_bzero(text, sizeof text);
    }
    close(fd);
    return rc;
}
