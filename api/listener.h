/* Unix sockets to listen on. */
#ifndef API_LISTENER_H
#define API_LISTENER_H
#include "common/error.h"

#include <sys/types.h>

struct listener {
    int fd;
    char path[108];
    dev_t dev; /* which file it is: another one at the same path is not ours to remove */
    ino_t ino;
};

/* Bind and listen, mode 0600. A socket file on which nobody answers is replaced; one that answers ("listen_in_use"),
 * and anything that is no socket ("listen_failed"), is left alone. */
int listener_open(struct listener *listener, const char *path, struct error *err);

/* Remove the file if it is still ours. Does not close the fd. */
void listener_remove(const struct listener *listener);
#endif
