#include "tasks/proto/ckptfind.h"

#include "common/below.h"
#include "common/xalloc.h"
#include "tasks/proto/ckptdir.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void ckptfind_free(struct ckpt_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->items[i].path);
    free(files->items);
    free(files->linked);
    *files = (struct ckpt_files){0};
}

const struct ckpt_file *ckptfind_get(const struct ckpt_files *files, const char *path)
{
    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->items[i].path, path) == 0)
            return &files->items[i];
    return NULL;
}

int64_t ckptfind_step(const char *path)
{
    const char *base = strrchr(path, '/'), *end, *start;

    base = base ? base + 1 : path;
    for (end = base + strlen(base); end > base && (end[-1] < '0' || end[-1] > '9'); end--)
        ;
    for (start = end; start > base && start[-1] >= '0' && start[-1] <= '9'; start--)
        ;
    return end > start && end - start < 19 ? strtoll(start, NULL, 10) : -1;
}

static int by_time(const void *a, const void *b)
{
    const struct ckpt_file *x = a, *y = b;
    int64_t step_x = ckptfind_step(x->path), step_y = ckptfind_step(y->path);

    if (x->mtime_ns != y->mtime_ns)
        return x->mtime_ns < y->mtime_ns ? -1 : 1;
    if (step_x != step_y)
        return step_x < step_y ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Joins directory and pattern, escaping the directory's name. */
static char *whole_pattern(const char *dir, const char *pattern)
{
    char *whole = xcalloc(2 * strlen(dir) + strlen(pattern) + 2, 1), *p = whole;

    for (; *dir; dir++) {
        if (strchr("*?[\\", *dir) != NULL)
            *p++ = '\\';
        *p++ = *dir;
    }
    *p++ = '/';
    strcpy(p, pattern);
    return whole;
}

/* Adds a file, found at this path, by its path in `dir`, if it is a regular one in there. */
static void files_add(struct ckpt_files *files, const char *dir, const char *found)
{
    const char *path = found + strlen(dir) + 1;
    int fd = below_open(dir, path, O_PATH | O_NOFOLLOW);
    struct stat st;

    if (fd < 0 && errno == ELOOP && files->linked == NULL && lstat(found, &st) == 0 && S_ISREG(st.st_mode))
        files->linked = xstrdup(path);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        files->items = xrealloc(files->items, files->n + 1, sizeof *files->items);
        files->items[files->n++] = (struct ckpt_file){.path = xstrdup(path),
                                                      .size = (int64_t)st.st_size,
                                                      .mtime_ns = ckpt_mtime_ns(&st),
                                                      .inode = (int64_t)st.st_ino};
    }
    close(fd);
}

int ckptfind(const char *dir, const char *pattern, struct ckpt_files *files, struct error *err)
{
    char *whole = whole_pattern(dir, pattern);
    glob_t found = {0};
    int rc = glob(whole, GLOB_NOSORT | GLOB_ERR, NULL, &found);

    free(whole);
    *files = (struct ckpt_files){0};
    if (rc != 0 && rc != GLOB_NOMATCH) {
        globfree(&found);
        if (rc == GLOB_ABORTED && (errno == ENOENT || errno == ENOTDIR))
            return 0;
        return error_set(err, "checkpoints", "%s: what matches \"%s\" cannot be listed", dir, pattern);
    }
    for (size_t i = 0; i < found.gl_pathc; i++)
        files_add(files, dir, found.gl_pathv[i]);
    globfree(&found);
    if (files->n > 1)
        qsort(files->items, files->n, sizeof *files->items, by_time);
    return 0;
}
