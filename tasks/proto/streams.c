#include "tasks/proto/streams.h"

#include "common/xalloc.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX ".stretto-stream-"

static const char *const ends[] = {[STREAM_OPEN] = "open", [STREAM_CLOSED] = "closed", [STREAM_PAUSED] = "paused"};

static char *stream_path(const char *dir, uint64_t session, enum stream_end end)
{
    return alloc_printf("%s/" PREFIX "%016" PRIx64 ".%s", dir, session, ends[end]);
}

static int stream_no_memory(struct error *err)
{
    return error_set(err, "stream_memory", "no memory for the stream");
}

int streams_open(const char *dir, uint64_t session, struct error *err)
{
    char *path = stream_path(dir, session, STREAM_OPEN);
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1, rc = 0;

    if (path == NULL)
        return stream_no_memory(err);
    if (fd < 0)
        rc = error_errno(err, "stream_mark", "cannot note that the stream is open: %s", path);
    else
        close(fd);
    free(path);
    return rc;
}

int streams_end(const char *dir, uint64_t session, enum stream_end end, struct error *err)
{
    char *from = stream_path(dir, session, STREAM_OPEN), *to = stream_path(dir, session, end);
    int rc;

    if (from == NULL || to == NULL)
        rc = stream_no_memory(err);
    else if ((rc = rename(from, to)) < 0)
        error_errno(err, "stream_mark", "cannot note that the stream is closed: %s", from);
    free(from);
    free(to);
    return rc;
}

/* Counts a mark. Returns whether the name is one. */
static bool count_mark(const char *name, struct streams *out)
{
    const char *end = strrchr(name, '.');

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    out->open += strcmp(end + 1, ends[STREAM_OPEN]) == 0;
    out->closed += strcmp(end + 1, ends[STREAM_CLOSED]) == 0;
    out->paused += strcmp(end + 1, ends[STREAM_PAUSED]) == 0;
    return true;
}

static void read_marks(const char *dir, struct streams *out, bool clear)
{
    DIR *d = opendir(dir);
    struct dirent *entry;

    *out = (struct streams){0};
    while (d != NULL && (entry = readdir(d)) != NULL)
        if (count_mark(entry->d_name, out) && clear)
            unlinkat(dirfd(d), entry->d_name, 0);
    if (d != NULL)
        closedir(d);
}

void streams_count(const char *dir, struct streams *out)
{
    read_marks(dir, out, false);
}

void streams_clear(const char *dir)
{
    struct streams counted;

    read_marks(dir, &counted, true);
}
