#include "daemon/rundir/tails.h"

#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

struct tails {
    uv_work_t req;
    struct rundir_tail *files;
    size_t n;
    char *text; /* what was read of all files */
    void (*cb)(void *arg, const struct rundir_tail *files, size_t n);
    void *arg;
};

/* Returns the length of the longest path of a directory, with its slash, in which all files lie. */
static size_t common_length(const struct tails *tails)
{
    const char *first = tails->files[0].path;
    size_t length = strlen(first);

    for (size_t i = 0; i < tails->n; i++) {
        size_t n = 0;

        while (n < length && tails->files[i].path[n] == first[n])
            n++;
        length = n;
    }
    while (length > 0 && first[length - 1] != '/')
        length--;
    return length;
}

/* Reads whole lines of the file into `room`; its path is relative to a directory. Anything but a regular file must not
 * stop the thread, whoever has put it there. */
static void read_tail_on(struct rundir_tail *file, int dir, const char *path, char *room)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, fd = openat(dir, path, flags | O_NOATIME);
    const char *last;
    ssize_t n;

    if (fd < 0 && errno == EPERM) /* another user's file, on some file systems */
        fd = openat(dir, path, flags);
    if (fd < 0) {
        file->failed = errno == ENOENT || errno == ENOTDIR ? 0 : errno;
        return;
    }
    n = pread(fd, room, RUNDIR_TAILS, file->offset);
    if (n < 0)
        file->failed = errno;
    close(fd);
    last = n > 0 ? memrchr(room, '\n', (size_t)n) : NULL; /* a line that is still being written waits */
    file->text = room;
    file->size = last != NULL ? (size_t)(last - room) + 1 : 0;
}

static void read_tails_aside(uv_work_t *req)
{
    struct tails *tails = req->data;
    size_t size = 0, length = common_length(tails);
    char *path = xasprintf("%.*s", (int)length, tails->files[0].path);
    int dir =
        open(path, O_PATH | O_DIRECTORY | O_CLOEXEC); /* walking the whole path for each file is half of the work */

    if (dir < 0) { /* then there are no files, or each says why it cannot be read */
        dir = AT_FDCWD;
        length = 0;
    }
    tails->text = xrealloc(NULL, 2, RUNDIR_TAILS);
    for (size_t i = 0; i < tails->n; i++) {
        struct rundir_tail *file = &tails->files[i];

        file->left = size > RUNDIR_TAILS;
        if (!file->left)
            read_tail_on(file, dir, file->path + length, tails->text + size);
        size += file->size;
    }
    if (dir != AT_FDCWD)
        close(dir);
    free(path);
}

static void tails_read(uv_work_t *req, int status)
{
    struct tails *tails = req->data;

    for (size_t i = 0; i < tails->n && status != 0; i++) /* the daemon is ending, before it was begun */
        tails->files[i].failed = ECANCELED;
    tails->cb(tails->arg, tails->files, tails->n);
    for (size_t i = 0; i < tails->n; i++)
        free(tails->files[i].path);
    free(tails->files);
    free(tails->text);
    free(tails);
}

void rundir_tails(void *loop, struct rundir_tail *files, size_t n,
                  void (*cb)(void *arg, const struct rundir_tail *files, size_t n), void *arg)
{
    struct tails *tails = xcalloc(1, sizeof *tails);

    *tails = (struct tails){.files = files, .n = n, .cb = cb, .arg = arg};
    tails->req.data = tails;
    if (uv_queue_work(loop, &tails->req, read_tails_aside, tails_read) != 0)
        abort(); /* only for wrong arguments */
}
