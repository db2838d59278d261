#include "tasks/train/state.h"

#include "common/files.h"

#define XXH_INLINE_ALL
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define READ_SIZE ((size_t)1 << 20)

struct state_digest {
    XXH3_state_t *hash;
    char *buffer;
    bool flush;
    size_t root; /* length of the path that is measured */
    int64_t size;
};

static int entry_by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Goes through a file or a tree in order; `each` returns -1 with errno to end it. Returns 0, or -1 with errno. */
static int walk_state(const char *path, int (*each)(void *arg, FTSENT *entry), void *arg)
{
    char *paths[] = {(char *)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, entry_by_name);
    FTSENT *entry;
    int rc = 0, failed;

    if (tree == NULL)
        return -1;
    while (rc == 0 && (errno = 0, entry = fts_read(tree)) != NULL)
        rc = each(arg, entry);
    failed = errno;
    fts_close(tree);
    errno = failed;
    return rc < 0 || failed != 0 ? -1 : 0;
}

static int measure_file(struct state_digest *m, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), failed;
    ssize_t n = -1;

    if (fd < 0)
        return -1;
    while ((n = read(fd, m->buffer, READ_SIZE)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        XXH3_64bits_update(m->hash, m->buffer, (size_t)n);
        m->size += n;
    }
    if (n == 0 && m->flush && fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
        n = -1;
    failed = errno;
    close(fd);
    errno = failed;
    return n < 0 ? -1 : 0;
}

static int measure_entry(void *arg, FTSENT *entry)
{
    struct state_digest *m = arg;

    switch (entry->fts_info) {
    case FTS_D: return 0;
    case FTS_DP: break;
    case FTS_F:
        if (entry->fts_level > 0) /* a name in a directory, with the NUL that ends it */
            XXH3_64bits_update(m->hash, entry->fts_path + m->root, entry->fts_pathlen - m->root + 1);
        if (measure_file(m, entry->fts_accpath) < 0)
            return -1;
        break;
    default:
        errno = entry->fts_errno != 0 ? entry->fts_errno : EINVAL; /* a link, a socket or the like */
        return -1;
    }
    if (m->flush)
        file_flush_name(entry->fts_path);
    return 0;
}

int state_measure(const char *path, bool flush, int64_t *size, char digest[STATE_DIGEST_SIZE], struct error *err)
{
    struct state_digest m = {XXH3_createState(), malloc(READ_SIZE), flush, strlen(path), 0};
    int rc;

    if (m.hash == NULL || m.buffer == NULL) {
        error_set(err, "train_memory", "no memory to read %s", path);
        rc = -1;
        errno = ENOMEM;
    } else {
        XXH3_64bits_reset(m.hash);
        rc = walk_state(path, measure_entry, &m);
        if (rc < 0)
            error_errno(err, "train_checkpoint", "%s", path);
        *size = m.size;
        snprintf(digest, STATE_DIGEST_SIZE, "%016" PRIx64, (uint64_t)XXH3_64bits_digest(m.hash));
    }
    XXH3_freeState(m.hash);
    free(m.buffer);
    return rc;
}

static int remove_state_entry(void *arg, FTSENT *entry)
{
    if (entry->fts_info == FTS_DP)
        rmdir(entry->fts_accpath);
    else if (entry->fts_info != FTS_D)
        unlink(entry->fts_accpath);
    return 0;
}

void state_remove(const char *path)
{
    walk_state(path, remove_state_entry, NULL);
}
