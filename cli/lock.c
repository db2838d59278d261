#include "cli/lock.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define NAME_LENGTH 200 /* bytes of a file's name, which leaves some for a suffix */

static char *lock_dir(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state != NULL && state[0] == '/')
        return xasprintf("%s/stretto", state);
    return home != NULL && home[0] == '/' ? xasprintf("%s/.local/state/stretto", home) : NULL;
}

/* Makes a daemon's URL usable as a part of a file's name. */
static char *url_in_file_name(const char *url)
{
    char *text = xasprintf("%.*s", NAME_LENGTH, url != NULL ? url : "");

    for (char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '.')
            *c = '-';
    return text;
}

bool lock_take(const struct cli *cli, const char *name)
{
    char *dir = lock_dir(), *daemon = url_in_file_name(cli->url), *path;
    struct error err;
    bool taken = true;
    int fd;

    if (dir != NULL && dir_make(dir, &err) == 0) {
        path = xasprintf("%s/%s%s%s.lock", dir, name, daemon[0] ? "-" : "", daemon);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        taken = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        free(path); /* fd stays open until the process ends */
    }
    free(daemon);
    free(dir);
    return taken;
}
