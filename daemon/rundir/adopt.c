#include "daemon/rundir/adopt.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)1 << 20)

static int adoption_failed(const char *what, const char *path, struct error *err)
{
    return error_errno(err, "run_dir", "cannot %s %s", what, path);
}

static int copy_bytes(int in, int out, const char *from, const char *to, struct error *err)
{
    char *bytes = xcalloc(1, COPY_BYTES);
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = read(in, bytes, COPY_BYTES)) != 0) {
        if (n < 0)
            rc = adoption_failed("read", from, err);
        for (ssize_t done = 0, more; rc == 0 && done < n; done += more) {
            more = write(out, bytes + done, (size_t)(n - done));
            if (more < 0)
                rc = adoption_failed("write", to, err);
        }
    }
    if (rc == 0 && fsync(out) < 0)
        rc = adoption_failed("flush", to, err);
    free(bytes);
    return rc;
}

static int copy_file(const char *from, const char *to, struct error *err)
{
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out, rc;

    if (in < 0)
        return adoption_failed("read", from, err);
    out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    rc = out < 0 ? adoption_failed("create", to, err) : copy_bytes(in, out, from, to, err);
    if (out >= 0 && close(out) < 0 && rc == 0)
        rc = adoption_failed("write", to, err);
    close(in);
    return rc;
}

static bool is_of_the_program(const char *name)
{
    size_t length = strlen(name);

    return strncmp(name, "state-rank", 10) == 0 ||
           (strncmp(name, "rank", 4) == 0 && length > 5 && strcmp(name + length - 5, ".json") == 0);
}

static int adopt_dir(const char *from, const char *to, bool all, struct error *err);

static int adopt_one(const char *from, const char *to, struct error *err)
{
    struct stat st;

    if (lstat(from, &st) < 0)
        return adoption_failed("read", from, err);
    if (S_ISDIR(st.st_mode))
        return adopt_dir(from, to, true, err);
    if (linkat(AT_FDCWD, from, AT_FDCWD, to, 0) == 0 || errno == EEXIST)
        return 0;
    return copy_file(from, to, err);
}

/* Copies the whole directory, or only the program's part of it. */
static int adopt_dir(const char *from, const char *to, bool all, struct error *err)
{
    DIR *dir = opendir(from);
    const struct dirent *entry;
    int rc = 0;

    if (dir == NULL)
        return adoption_failed("read", from, err);
    if (mkdir(to, 0700) < 0 && errno != EEXIST)
        rc = adoption_failed("make", to, err);
    while (rc == 0 && (entry = readdir(dir)) != NULL) {
        char *source = xasprintf("%s/%s", from, entry->d_name), *target = xasprintf("%s/%s", to, entry->d_name);

        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            (all || is_of_the_program(entry->d_name)))
            rc = adopt_one(source, target, err);
        free(target);
        free(source);
    }
    closedir(dir);
    return rc;
}

int adopt_checkpoint(const char *from, const char *to, struct error *err)
{
    char *part;
    int rc;

    if (access(to, F_OK) == 0 || access(from, F_OK) < 0)
        return 0;
    part = xasprintf("%s.part", to);
    rc = adopt_dir(from, part, false, err);
    if (rc == 0 && rename(part, to) < 0)
        rc = adoption_failed("make", to, err);
    if (rc == 0)
        file_flush_name(to);
    free(part);
    return rc;
}
