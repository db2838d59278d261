#include "tasks/runner/metric_rotated.h"

#include "common/xalloc.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* A walk through the files of a directory. */
struct walk {
    char *dir;
    const char *name; /* the last part of the path */
    DIR *stream;
};

static bool walk_begin(struct walk *walk, const char *path)
{
    const char *slash = strrchr(path, '/');

    walk->name = slash != NULL ? slash + 1 : path;
    walk->dir = slash != NULL ? xasprintf("%.*s", (int)(slash - path), path) : xstrdup(".");
    walk->stream = opendir(walk->dir);
    if (walk->stream == NULL)
        free(walk->dir);
    return walk->stream != NULL;
}

static void walk_end(struct walk *walk)
{
    closedir(walk->stream);
    free(walk->dir);
}

/* Returns the path of the next regular file, to be freed; NULL at the end. */
static char *walk_next(struct walk *walk, struct stat *st)
{
    const struct dirent *entry;

    while ((entry = readdir(walk->stream)) != NULL) {
        char *path = xasprintf("%s/%s", walk->dir, entry->d_name);

        if (lstat(path, st) == 0 && S_ISREG(st->st_mode))
            return path;
        free(path);
    }
    return NULL;
}

char *metric_rotated_find(const char *path, dev_t dev, ino_t inode)
{
    struct walk walk;
    struct stat st;
    char *found;

    if (!walk_begin(&walk, path))
        return NULL;
    while ((found = walk_next(&walk, &st)) != NULL && (st.st_dev != dev || st.st_ino != inode))
        free(found);
    walk_end(&walk);
    return found;
}

static int time_order(const struct timespec *a, const struct timespec *b)
{
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

char *metric_rotated_next(const char *path, const struct stat *last)
{
    char *best = NULL, *found;
    struct stat st, best_st;
    struct walk walk;

    if (!walk_begin(&walk, path))
        return NULL;
    while ((found = walk_next(&walk, &st)) != NULL) {
        bool known = st.st_dev == last->st_dev && st.st_ino == last->st_ino;
        const char *name = strrchr(found, '/') + 1;
        int order = best != NULL ? time_order(&st.st_mtim, &best_st.st_mtim) : -1;

        if (!known && strncmp(name, walk.name, strlen(walk.name)) == 0 && time_order(&st.st_mtim, &last->st_mtim) > 0 &&
            (order < 0 || (order == 0 && strverscmp(found, best) > 0))) { /* log.csv.2 is older than log.csv.1 */
            free(best);
            best = found;
            best_st = st;
        } else {
            free(found);
        }
    }
    walk_end(&walk);
    return best;
}
