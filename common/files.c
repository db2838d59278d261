#include "common/files.h"

#include "common/jsonx.h"
#include "common/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_bool flush_nothing;

void file_flush_nothing(void)
{
    atomic_store(&flush_nothing, true);
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

static bool is_flushed(unsigned mode)
{
    return (mode & FILE_UNFLUSHED) == 0 && !atomic_load(&flush_nothing);
}

/* Flushes a directory. Errors are ignored, since some file systems cannot do it, and the file is there all the same. */
void file_flush_name(const char *path)
{
    int saved = errno, length = (int)strlen(path), fd = -1;
    char *dir;

    if (!is_flushed(0))
        return;
    while (length > 0 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    dir = length > 0 ? alloc_printf("%.*s", length, path) : alloc_printf(".");
    if (dir != NULL)
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
    errno = saved;
}

/* Writes the data to a new temporary file beside `path`, and its name to *tmp, to be freed. An existing file is never
 * used: it may be one that a process on another host, with the same pid, is writing. */
static int write_temporary(const char *path, const void *data, size_t size, unsigned mode, char **tmp,
                           struct error *err)
{
    static atomic_uint serial;
    bool flush = is_flushed(mode);
    int fd, saved;

    for (int tries = 0;; tries++) {
        *tmp = alloc_printf("%s.%d.%u.tmp", path, (int)getpid(), atomic_fetch_add(&serial, 1));
        if (*tmp == NULL) {
            errno = ENOMEM;
            return error_errno(err, "file_write", "cannot write %s", path);
        }
        fd = open(*tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode & 07777);
        if (fd >= 0)
            break;
        if (errno == EEXIST && tries < 100) {
            free(*tmp);
            continue;
        }
        error_errno(err, "file_write", "cannot create %s", *tmp);
        saved = errno == EEXIST ? EIO : errno; /* EEXIST means that `path` itself is taken */
        free(*tmp);
        errno = saved;
        return -1;
    }
    if (write_all(fd, data, size) < 0 || (flush && fsync(fd) < 0)) {
        error_errno(err, "file_write", "cannot write %s", *tmp);
        saved = errno;
        close(fd);
        unlink(*tmp);
        free(*tmp);
        errno = saved;
        return -1;
    }
    close(fd);
    return 0;
}

/* Returns whether this is a name that write_temporary() makes: it ends in two numbers and "tmp". */
static bool is_temporary(const char *name)
{
    static const char digits[] = "0123456789";
    const char *p = strrchr(name, '.');

    if (p == NULL || strcmp(p, ".tmp") != 0)
        return false;
    for (int numbers = 0; numbers < 2; numbers++) {
        const char *last = p;

        while (p > name && strchr(digits, p[-1]) != NULL)
            p--;
        if (p == last || p == name || *--p != '.')
            return false;
    }
    return p > name;
}

void file_sweep_temporary(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    struct stat st;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (is_temporary(entry->d_name) && fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        closedir(dir);
}

int file_write_whole(const char *path, const void *data, size_t size, unsigned mode, struct error *err)
{
    char *tmp;
    int rc = 0;

    if (write_temporary(path, data, size, mode, &tmp, err) < 0)
        return -1;
    if (rename(tmp, path) < 0) {
        int saved = errno;

        rc = error_errno(err, "file_write", "cannot rename %s to %s", tmp, path);
        unlink(tmp);
        errno = saved;
    } else if (is_flushed(mode)) {
        file_flush_name(path);
    }
    free(tmp);
    return rc;
}

/* Returns the value as one line of JSON, to be freed; NULL if there is no memory. */
static char *dump_line(const char *path, const json_t *value, struct error *err)
{
    char *line = jsonx_dump(value, "\n");

    if (line == NULL) {
        errno = ENOMEM;
        error_errno(err, "file_write", "cannot write %s", path);
    }
    return line;
}

int file_write_json(const char *path, const json_t *value, unsigned mode, struct error *err)
{
    char *line = dump_line(path, value, err);
    int rc = line != NULL ? file_write_whole(path, line, strlen(line), mode, err) : -1;

    free(line);
    return rc;
}

/* Returns whether link() made the link although it failed. An NFS server whose answer was lost is asked again, and then
 * finds the link there (link(2), "BUGS"). Only this process links the temporary file, so that a second link is its own.
 * The file is opened because that makes NFS ask for its attributes anew. */
static bool was_linked(const char *tmp)
{
    struct stat st;
    int saved = errno, fd = open(tmp, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool linked = fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 2;

    if (fd >= 0)
        close(fd);
    errno = saved;
    return linked;
}

int file_create_json(const char *path, const json_t *value, unsigned mode, struct error *err)
{
    char *line = dump_line(path, value, err), *tmp;
    int rc = 0, saved;

    if (line == NULL)
        return -1;
    if (write_temporary(path, line, strlen(line), mode, &tmp, err) < 0) {
        free(line);
        return -1;
    }
    free(line);
    if (link(tmp, path) < 0 && !was_linked(tmp))
        rc = error_errno(err, errno == EEXIST ? "file_exists" : "file_write", "cannot create %s", path);
    else if (is_flushed(mode))
        file_flush_name(path);
    saved = errno;
    unlink(tmp);
    free(tmp);
    errno = saved;
    return rc;
}

static int read_regular_file(const char *path, bool own, size_t max, char **out, size_t *size, struct error *err)
{
    struct stat st;
    size_t len = 0;
    char *buf;
    /* a file that is not regular must not stop the thread */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (own ? O_NOFOLLOW : 0));

    if (fd < 0)
        return error_errno(err, "file_read", "cannot open %s", path);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return error_errno(err, "file_read", "%s is not a regular file", path);
    }
    if (own && st.st_uid != geteuid()) {
        close(fd);
        error_set(err, "file_read", "%s belongs to another user (uid %u)", path, (unsigned)st.st_uid);
        errno = EPERM;
        return -1;
    }
    if ((uintmax_t)st.st_size > max) {
        close(fd);
        errno = EFBIG;
        return error_errno(err, "file_read", "%s", path);
    }
    buf = malloc((size_t)st.st_size + 1);
    if (buf == NULL) {
        close(fd);
        errno = ENOMEM;
        return error_errno(err, "file_read", "%s", path);
    }
    while (len < (size_t)st.st_size) {
        ssize_t n = read(fd, buf + len, (size_t)st.st_size - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            error_errno(err, "file_read", "cannot read %s", path);
            free(buf);
            close(fd);
            return -1;
        }
        if (n == 0)
            break;
        len += (size_t)n;
    }
    close(fd);
    buf[len] = '\0';
    *out = buf;
    *size = len;
    return 0;
}

int file_read(const char *path, size_t max, char **out, size_t *size, struct error *err)
{
    return read_regular_file(path, false, max, out, size, err);
}

int file_read_own(const char *path, size_t max, char **out, size_t *size, struct error *err)
{
    return read_regular_file(path, true, max, out, size, err);
}

json_t *file_read_json(const char *path, struct error *err)
{
    json_error_t jerr;
    json_t *value;
    char *text;
    size_t size;

    if (file_read(path, FILE_JSON_MAX, &text, &size, err) < 0)
        return NULL;
    value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &jerr);
    free(text);
    if (value == NULL || !json_is_object(value)) {
        if (value != NULL)
            error_set(err, "file_json", "%s is not a JSON object, but %s", path,
                      json_is_array(value) ? "an array" : "something else");
        else
            error_set(err, "file_json", "%s:%d:%d: %s", path, jerr.line, jerr.column,
                      jsonx_no_memory(&jerr) ? "out of memory" : jerr.text);
        json_decref(value);
        errno = EBADMSG;
        return NULL;
    }
    return value;
}

static int make_one(const char *path)
{
    if (mkdir(path, 0700) < 0)
        return -1;
    file_flush_name(path);
    return 0;
}

int dir_make(const char *path, struct error *err)
{
    struct stat st;
    char *parent, *slash;
    int rc;

    if (make_one(path) == 0) /* in most cases at most the last directory is missing */
        return 0;
    if (errno == ENOENT && (slash = strrchr(path, '/')) != NULL && slash > path) {
        parent = alloc_printf("%.*s", (int)(slash - path), path);
        if (parent == NULL) {
            errno = ENOMEM;
            return error_errno(err, "dir_make", "cannot make the directory %s", path);
        }
        rc = dir_make(parent, err);
        free(parent);
        if (rc < 0)
            return -1;
        if (make_one(path) == 0)
            return 0;
    }
    if (errno != EEXIST)
        return error_errno(err, "dir_make", "cannot make the directory %s", path);
    if (stat(path, &st) < 0)
        return error_errno(err, "dir_make", "%s", path);
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return error_errno(err, "dir_make", "%s", path);
    }
    return 0;
}

void file_last_line(const char *path, bool (*skip)(const char *line), char *out, size_t size)
{
    char tail[4096 + 1];
    ssize_t n = 0;
    off_t end;
    size_t stop, start;
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);

    out[0] = '\0';
    if (fd < 0)
        return;
    end = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_END) : 0;
    if (end > 0)
        n = pread(fd, tail, sizeof tail - 1, end > (off_t)sizeof tail - 1 ? end - (off_t)sizeof tail + 1 : 0);
    close(fd);
    if (n <= 0)
        return;
    for (stop = (size_t)n;; stop = start) {
        for (; stop > 0 && (unsigned char)tail[stop - 1] <= ' '; stop--)
            ;
        for (start = stop; start > 0 && tail[start - 1] != '\n'; start--)
            ;
        tail[stop] = '\0';
        if (stop == 0 || skip == NULL || !skip(tail + start))
            break;
    }
    while (start < stop && tail[start] == '\0')
        start++; /* a file may have a hole before its last line */
    for (char *p = tail + start; p < tail + stop; p++)
        if (*p == '\0')
            *p = '?';
    snprintf(out, size, "%s", tail + start);
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
            *p = '?'; /* the line goes into JSON and to terminals, where control bytes and broken UTF-8 do harm */
}
