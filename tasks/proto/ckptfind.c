#include "tasks/proto/ckptfind.h"

#include "common/xalloc.h"
#include "tasks/proto/ckptdir.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

void ckptfind_free(struct ckpt_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->items[i].path);
    free(files->items);
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

int ckptfind(const char *dir, const char *pattern, struct ckpt_files *files, struct error *err)
{
    char *whole = whole_pattern(dir, pattern);
    glob_t found = {0};
    int rc = glob(whole, GLOB_NOSORT | GLOB_ERR, NULL, &found);
    struct stat st;

    free(whole);
    *files = (struct ckpt_files){0};
    if (rc != 0 && rc != GLOB_NOMATCH) {
        globfree(&found);
        if (rc == GLOB_ABORTED && (errno == ENOENT || errno == ENOTDIR))
            return 0;
        return error_set(err, "checkpoints", "%s: what matches \"%s\" cannot be listed", dir, pattern);
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (lstat(found.gl_pathv[i], &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        files->items = xrealloc(files->items, files->n + 1, sizeof *files->items);
        files->items[files->n++] = (struct ckpt_file){
            .path = xstrdup(found.gl_pathv[i] + strlen(dir) + 1),
            .size = (int64_t)st.st_size,
            .mtime_ns = ckpt_mtime_ns(&st),
            .inode = (int64_t)st.st_ino,
        };
    }
    globfree(&found);
    if (files->n > 1)
        qsort(files->items, files->n, sizeof *files->items, by_time);
    return 0;
}
