#include "cli/credentials.h"

#include "common/safe_path.h"
#include "common/xalloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_MAX 4096

/* Reads a file that must be private. The checks are on the open file, since its path may lead elsewhere by then. */
static int read_private(const char *path, char text[TOKEN_MAX], struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    struct stat st;
    ssize_t n = 0;

    if (fd < 0)
        return error_errno(err, "token_file", "STRETTO_TOKEN_FILE %s", path);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = error_set(err, "token_file", "STRETTO_TOKEN_FILE %s is no file", path);
    else if (st.st_uid != geteuid())
        rc = error_set(err, "token_file", "STRETTO_TOKEN_FILE %s belongs to another user", path);
    else if ((st.st_mode & 077) != 0)
        rc = error_set(err, "token_file", "STRETTO_TOKEN_FILE %s is open to others: chmod 600 it", path);
    else if (safe_path(path, err) < 0)
        rc = -1;
    else if ((n = read(fd, text, TOKEN_MAX - 1)) < 0)
        rc = error_errno(err, "token_file", "STRETTO_TOKEN_FILE %s", path);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    return rc;
}

int credentials_token(char **token, struct error *err)
{
    const char *given = getenv("STRETTO_TOKEN"), *path = getenv("STRETTO_TOKEN_FILE");
    const char *from = "STRETTO_TOKEN", *c;
    char text[TOKEN_MAX] = "";

    *token = NULL;
    if (given == NULL || given[0] == '\0') {
        if (path == NULL || path[0] == '\0')
            return 0;
        if (read_private(path, text, err) < 0)
            return -1;
        text[strcspn(text, "\r\n")] = '\0';
        given = text;
        from = path;
    }
    for (c = given; *c > ' ' && *c <= '~'; c++)
        ;
    if (c == given || *c != '\0') /* a line break would end the header and begin another one */
        return error_set(err, "token_file", "%s does not hold a token", from);
    *token = xstrdup(given);
    return 0;
}
