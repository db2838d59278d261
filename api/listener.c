#include "api/listener.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int listener_open(struct listener *listener, const char *text, bool tls, struct error *err)
{
    *listener = (struct listener){.fd = -1};
    if (strncmp(text, "unix:", 5) == 0)
        return listener_open_unix(listener, text + 5, err);
    if (strncmp(text, "tcp:", 4) == 0)
        return listener_open_tcp(listener, text + 4, tls, err);
    return error_set(err, "listen_unsupported", "\"%.200s\": unix:PATH or tcp:HOST:PORT can be listened on", text);
}

void listener_remove(const struct listener *listener)
{
    struct stat st;

    if (!listener->tcp && lstat(listener->path, &st) == 0 && st.st_dev == listener->dev && st.st_ino == listener->ino)
        unlink(listener->path);
}
