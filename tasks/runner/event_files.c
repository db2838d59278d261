#include "tasks/runner/event_files.h"

#include "common/text.h"
#include "common/xalloc.h"
#include "tasks/runner/event_record.h"
#include "tasks/runner/pattern.h"

#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_MAX ((size_t)1 << 20) /* bytes of an event that is read; pictures are passed over */
#define ROOM (EVENT_HEADER + RECORD_MAX + EVENT_FOOTER)
#define FILES_MAX 1000
#define DEPTH_MAX 8        /* of directories below those that are named */
#define ENTRIES_MAX 100000 /* that one look goes through */

struct event_file {
    char *path, *prefix;
    dev_t dev;
    ino_t inode;
    int64_t offset; /* of the next record */
    bool broken;    /* nobody can know where the next record begins */
};

struct event_files {
    char *pattern; /* for glob(), from the root on */
    struct event_file files[FILES_MAX];
    size_t n;
    unsigned char *room; /* ROOM bytes */
    int64_t wrong;
    char first_wrong[200];
};

struct event_files *event_files_create(const char *dir, const char *pattern)
{
    struct event_files *files = xcalloc(1, sizeof *files);

    files->pattern = pattern_below(dir, pattern);
    return files;
}

void event_files_destroy(struct event_files *files)
{
    if (files == NULL)
        return;
    for (size_t i = 0; i < files->n; i++) {
        free(files->files[i].path);
        free(files->files[i].prefix);
    }
    free(files->pattern);
    free(files->room);
    free(files);
}

static void event_files_complain(struct event_files *files, const struct event_file *file, const char *why)
{
    const char *name = strrchr(file->path, '/');

    if (files->wrong++ == 0)
        snprintf(files->first_wrong, sizeof files->first_wrong, "byte %lld of %.80s: %s", (long long)file->offset,
                 name != NULL ? name + 1 : file->path, why);
}

/* Finds the file of a path, or adds it; NULL if there are too many. */
static struct event_file *event_files_find(struct event_files *files, const char *path, const char *prefix,
                                           size_t prefix_size)
{
    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->files[i].path, path) == 0)
            return &files->files[i];
    if (files->n == FILES_MAX)
        return NULL;
    files->files[files->n] =
        (struct event_file){.path = xstrdup(path), .prefix = xasprintf("%.*s", (int)prefix_size, prefix)};
    return &files->files[files->n++];
}

/* Reads the records that `size` bytes have in them whole, beginning at the file's offset. */
static void event_file_take(struct event_files *files, struct event_file *file, size_t size, int64_t file_size,
                            void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    size_t at = 0;

    while (size - at >= EVENT_HEADER) {
        const unsigned char *record = files->room + at;
        struct metric_line line;
        const char *why;
        uint64_t length;

        if (event_length(record, &length) < 0 || length > (uint64_t)INT64_MAX / 2) {
            event_files_complain(files, file,
                                 "the checksum of a record's length is wrong, and nothing behind it is read");
            file->broken = true;
            return;
        }
        if (length > RECORD_MAX) {
            if (file_size - file->offset >= (int64_t)length + EVENT_HEADER + EVENT_FOOTER)
                file->offset += (int64_t)length + EVENT_HEADER + EVENT_FOOTER;
            return;
        }
        if (size - at < EVENT_HEADER + (size_t)length + EVENT_FOOTER)
            return;
        record += EVENT_HEADER;
        if (!event_is_whole(record, (size_t)length))
            event_files_complain(files, file, "the checksum of a record is wrong");
        else if (event_read(record, (size_t)length, file->prefix, &line, &why) < 0)
            event_files_complain(files, file, why);
        else if (line.n > 0)
            each(arg, &line);
        at += EVENT_HEADER + (size_t)length + EVENT_FOOTER;
        file->offset += EVENT_HEADER + (int64_t)length + EVENT_FOOTER;
    }
}

/* Reads the new records of a file; returns how many bytes they had. */
static int64_t event_file_read(struct event_files *files, struct event_file *file, int64_t limit,
                               void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    int64_t begin, before, done = 0;
    struct stat st;
    ssize_t n;
    int fd;

    if (stat(file->path, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (st.st_dev != file->dev || st.st_ino != file->inode || st.st_size < file->offset) { /* it is another one now */
        file->dev = st.st_dev;
        file->inode = st.st_ino;
        file->offset = 0;
        file->broken = false;
    }
    if (file->broken || st.st_size <= file->offset || (fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
        return 0;
    if (files->room == NULL)
        files->room = xcalloc(ROOM, 1);
    begin = file->offset;
    do {
        before = file->offset;
        n = pread(fd, files->room, ROOM, file->offset);
        if (n > 0)
            event_file_take(files, file, (size_t)n, st.st_size, each, arg);
        done += n > 0 && file->offset - before <= n ? file->offset - before : 0; /* skipped bytes do not count */
    } while (file->offset > before && !file->broken && done < limit);
    close(fd);
    return file->offset > begin && done == 0 ? 1 : done;
}

static bool is_event_file(const char *path)
{
    const char *name = strrchr(path, '/');

    return strstr(name != NULL ? name : path, "tfevents") != NULL;
}

static int entries_by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Reads the event files of a path that the pattern has found: a file, or a directory with all below. */
static int64_t event_files_look_at(struct event_files *files, char *path, int64_t limit,
                                   void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    char *const roots[] = {path, NULL};
    size_t root = strlen(path), entries = 0;
    int64_t done = 0;
    FTS *tree;

    while (root > 1 && path[root - 1] == '/')
        path[--root] = '\0';
    tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR | FTS_NOSTAT, entries_by_name);

    for (FTSENT *entry; tree != NULL && done < limit && entries < ENTRIES_MAX && (entry = fts_read(tree)) != NULL;
         entries++) {
        const char *below = entry->fts_level > 0 ? entry->fts_path + root + 1 : "", *slash = strrchr(below, '/');
        struct event_file *file;

        if (entry->fts_level >= DEPTH_MAX)
            fts_set(tree, entry, FTS_SKIP);
        if (entry->fts_info == FTS_D || entry->fts_info == FTS_DP || !is_event_file(entry->fts_path))
            continue;
        file = event_files_find(files, entry->fts_path, below, slash != NULL ? (size_t)(slash - below) : 0);
        if (file != NULL)
            done += event_file_read(files, file, limit - done, each, arg);
    }
    if (tree != NULL)
        fts_close(tree);
    return done;
}

int64_t event_files_read(struct event_files *files, int64_t limit,
                         void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    int64_t done = 0;
    glob_t found;

    if (glob(files->pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc && done < limit; i++)
        done += event_files_look_at(files, found.gl_pathv[i], limit - done, each, arg);
    globfree(&found);
    return done;
}

int64_t event_files_wrong(const struct event_files *files, const char **first)
{
    *first = files->first_wrong;
    return files->wrong;
}
