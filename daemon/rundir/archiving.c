#include "daemon/rundir/archiving.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "daemon/rundir/own_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((int64_t)256 << 20) /* an archive file that has grown beyond this is followed by another one */
#define WRITE_AT_ONCE ((size_t)4 << 20)

static const char *const part_names[ARCHIVE_PARTS] = {"exit.json", "stdout", "stderr", "runner.log"};

/* An archive file while it is being written. */
struct archive_output {
    int fd; /* -1: not open */
    int64_t number, size, before;
    struct text text; /* entries that are not written yet */
};

static char *attempt_member_dir(const struct archiving *p, const struct archiving_attempt *a)
{
    return xasprintf("%s/e%" PRId64 "/members/%" PRId64 "/%" PRId64, p->run_dir, p->ensemble, a->index / 1000,
                     a->index);
}

static char *job_dir(const struct archiving *p, const struct archiving_job *job)
{
    return xasprintf("%s/e%" PRId64 "/jobs/%s", p->run_dir, p->ensemble, job->name);
}

/* Reads a regular file of at most ARCHIVE_PART_MAX bytes, to be freed. Returns its size; -1 if there is none that
 * can be archived; -2 with errno if it could not be read. */
static int64_t read_part(int dir, const char *name, char **out)
{
    int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    size_t have = 0;
    ssize_t n = 1;

    *out = NULL;
    if (fd < 0)
        return errno == ENOENT || errno == ELOOP || errno == ENXIO || errno == EACCES ? -1 : -2;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)ARCHIVE_PART_MAX) {
        close(fd);
        return -1;
    }
    *out = xcalloc((size_t)st.st_size + 1, 1);
    while (have < (size_t)st.st_size && n != 0) {
        n = read(fd, *out + have, (size_t)st.st_size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        have += (size_t)n;
    }
    close(fd);
    if (n >= 0)
        return (int64_t)have;
    free(*out);
    *out = NULL;
    return -2;
}

/* Removes the keys of a record whose absence means the same. */
static void drop_empty(json_t *record)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe (record, next, key, value)
        if (json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0) ||
            (json_is_real(value) && json_real_value(value) == 0))
            json_object_del(record, key);
}

/* Replaces the text of an exit record by a shorter one: 13 digits are a time to the millisecond. Returns its size, or
 * -1 if it is no record that a runner has written for this attempt. */
static int64_t take_record(const struct archiving *p, const struct archiving_job *job,
                           const struct archiving_attempt *a, char **text)
{
    json_t *json = json_loads(*text, 0, NULL);
    const char *name = json_string_value(json_object_get(json, "job")),
               *id = json_string_value(json_object_get(json, "id"));
    char wanted[64], *shorter = NULL;

    snprintf(wanted, sizeof wanted, "%" PRId64 ".%" PRId64, p->ensemble, a->index);
    if (!json_is_true(json_object_get(json, "given_up")) && name != NULL && id != NULL &&
        strcmp(name, job->name) == 0 && strcmp(id, wanted) == 0) {
        drop_empty(json);
        shorter = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(13));
    }
    json_decref(json);
    free(*text);
    *text = shorter;
    return shorter != NULL ? (int64_t)strlen(shorter) : -1;
}

/* Returns 1 if the daemon has claimed the job itself, so that no runner starts it any more. Returns 0 if it has not, or
 * -1 with errno if the claim could not be read. */
static int is_sealed(int dir)
{
    int64_t size = -1;
    json_t *json;
    char *text;
    int sealed;

    if (dir >= 0)
        size = read_part(dir, "claim.json", &text);
    if (size < 0)
        return size == -2 ? -1 : 0;
    json = json_loads(text, 0, NULL);
    sealed = json == NULL || json_is_true(json_object_get(json, "given_up"));
    json_decref(json);
    free(text);
    return sealed;
}

/* Opens the file to which entries of this kind are added. A file that is longer than the database says has the rest of
 * a write that was cut short, or entries that the database does not know. A new file is then begun, and nothing is ever
 * overwritten. */
static int open_archive_output(const struct archiving *p, enum archive_kind kind, struct archive_output *out,
                               struct error *err)
{
    struct stat st;
    char *path;

    out->number = p->files[kind].number;
    out->size = p->files[kind].size;
    if (out->number > 0 && out->size < FILE_MAX) {
        path = archive_path(p->run_dir, p->ensemble, kind, out->number);
        out->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
        free(path);
        if (out->fd >= 0 && fstat(out->fd, &st) == 0 && st.st_size == out->size)
            return 0;
        if (out->fd >= 0)
            close(out->fd);
    }
    out->size = 0;
    do {
        path = archive_path(p->run_dir, p->ensemble, kind, ++out->number);
        out->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (out->fd < 0 && errno != EEXIST)
            error_errno(err, "file_write", "cannot create %s", path);
        else if (out->fd >= 0)
            file_flush_name(path);
        free(path);
    } while (out->fd < 0 && errno == EEXIST);
    return out->fd >= 0 ? 0 : -1;
}

static int write_archive_text(struct archive_output *out, struct error *err)
{
    size_t at = 0;

    while (at < out->text.size) {
        ssize_t n = write(out->fd, out->text.data + at, out->text.size - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "file_write", "cannot write an archive");
        at += (size_t)n;
    }
    out->text.size = 0;
    return 0;
}

static int add_entry(const struct archiving *p, struct archive_output *outputs, struct archiving_attempt *a,
                     struct archive_entry *entry, char *const parts[ARCHIVE_PARTS], struct error *err)
{
    enum archive_kind kind = a->kind;
    struct archive_output *out = &outputs[kind];
    size_t before;

    if (out->fd < 0) {
        if (open_archive_output(p, kind, out, err) < 0)
            return -1;
        out->before = out->size;
    }
    before = out->text.size;
    archive_entry_add(&out->text, entry, (const char *const *)parts);
    a->archived = true;
    a->file = out->number;
    a->at = out->size;
    out->size += (int64_t)(out->text.size - before);
    return out->text.size < WRITE_AT_ONCE ? 0 : write_archive_text(out, err);
}

/* Archives one attempt. Returns 1, 0 if something of it stays where it is, or -1. */
static int archive_attempt(const struct archiving *p, const struct archiving_job *job, struct archiving_attempt *a,
                           int job_fd, struct archive_output *outputs, struct error *err)
{
    char *member = attempt_member_dir(p, a), *path = xasprintf("%s/a%" PRId64, member, a->number),
         *parts[ARCHIVE_PARTS] = {NULL};
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 1;
    struct archive_entry entry = {.index = a->index, .attempt = a->number};

    if (dir < 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != EACCES)
            rc = error_errno(err, "file_read", "%s", path);
        else if (errno != ENOENT)
            rc = 0;
        goto out; /* an attempt that was never started has no directory, and nothing to archive */
    }
    for (size_t i = 0; i < ARCHIVE_PARTS && rc == 1; i++) {
        int from = i == ARCHIVE_LOG ? job_fd : dir;

        entry.sizes[i] = from >= 0 ? read_part(from, part_names[i], &parts[i]) : -1;
        if (entry.sizes[i] == -2)
            rc = error_errno(err, "file_read", "%s/%s", i == ARCHIVE_LOG ? job->name : path, part_names[i]);
        else if (i == ARCHIVE_RECORD && entry.sizes[i] >= 0)
            entry.sizes[i] = take_record(p, job, a, &parts[i]);
        if (i == ARCHIVE_RECORD && entry.sizes[i] == -1)
            rc = 0;
    }
    if (rc == 1)
        rc = add_entry(p, outputs, a, &entry, parts, err) < 0 ? -1 : 1;
    close(dir);
out:
    for (size_t i = 0; i < ARCHIVE_PARTS; i++)
        free(parts[i]);
    free(path);
    free(member);
    return rc;
}

/* Archives the attempts of a job. The log of its runner goes with the last one. */
static int archive_job(struct archiving *p, struct archiving_job *job, struct archive_output *outputs,
                       struct error *err)
{
    char *path = job_dir(p, job);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int sealed = is_sealed(fd), rc = sealed < 0 ? error_errno(err, "file_read", "%s/claim.json", path) : 1;

    job->whole = sealed == 0;
    for (size_t i = 0; i < job->n && rc >= 0 && sealed == 0; i++) {
        bool last = i + 1 == job->n;

        rc = archive_attempt(p, job, &p->attempts[job->first + i], last ? fd : -1, outputs, err);
        job->whole &= rc == 1;
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return rc < 0 ? -1 : 0;
}

static int flush_outputs(struct archiving *p, struct archive_output *outputs, struct error *err)
{
    for (size_t kind = 0; kind < ARCHIVE_KINDS; kind++) {
        struct archive_output *out = &outputs[kind];

        if (out->fd < 0)
            continue;
        if (write_archive_text(out, err) < 0)
            return -1;
        if (fdatasync(out->fd) < 0)
            return error_errno(err, "file_write", "cannot flush an archive");
        p->files[kind].number = out->number;
        p->files[kind].size = out->size;
    }
    return 0;
}

/* Takes back what a call that failed has added, so that a full disk does not make one file after the other. */
static void take_back(const struct archiving *p, enum archive_kind kind, const struct archive_output *out)
{
    char *path = archive_path(p->run_dir, p->ensemble, kind, out->number);
    int rc = out->before > 0 ? ftruncate(out->fd, out->before) : unlink(path);

    (void)rc; /* if it fails, the next call begins a new file */
    free(path);
}

int archiving_write(struct archiving *p, struct error *err)
{
    struct archive_output outputs[ARCHIVE_KINDS] = {{.fd = -1}, {.fd = -1}};
    int rc = 0;

    for (size_t i = 0; i < p->n_jobs && rc == 0; i++)
        rc = archive_job(p, &p->jobs[i], outputs, err);
    if (rc == 0)
        rc = flush_outputs(p, outputs, err);
    for (size_t kind = 0; kind < ARCHIVE_KINDS; kind++) {
        struct archive_output *out = &outputs[kind];

        if (out->fd >= 0 && rc < 0)
            take_back(p, kind, out);
        if (out->fd >= 0)
            close(out->fd);
        free(out->text.data);
    }
    return rc;
}

/* Returns whether a directory was closed by its user, or is not what it was. That is left alone; other failures are
 * those of the file system. */
static bool is_closed_to_us(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES || error == EPERM;
}

/* Removes regular files from a directory that its user may use as well. Returns 0, or -1 with errno. */
static int remove_files(int dir, const char *const names[], const bool wanted[], size_t n)
{
    struct stat st;

    for (size_t i = 0; i < n; i++)
        if ((wanted == NULL || wanted[i]) && fstatat(dir, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && unlinkat(dir, names[i], 0) < 0 && errno != ENOENT)
            return -1;
    return 0;
}

/* Returns whether no file that was archived has been changed since: its size is that of the copy, or it is gone. */
static bool is_unchanged(int dir, const struct archive_entry *entry)
{
    struct stat st;

    for (size_t i = ARCHIVE_STDOUT; i <= ARCHIVE_STDERR; i++)
        if (entry->sizes[i] >= 0 && fstatat(dir, part_names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_size != entry->sizes[i])
            return false;
    return true;
}

static int remove_archived_attempt(const struct archiving *p, struct archiving_attempt *a,
                                   const struct archive_entry *entry, struct error *err)
{
    /* of the output what the archive has; points of metrics are in the store */
    bool wanted[ATTEMPT_FILES] = {true, true, true, true, true, true};
    char *member = attempt_member_dir(p, a), *path = xasprintf("%s/a%" PRId64, member, a->number);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;

    if (dir < 0 && !is_closed_to_us(errno))
        rc = error_errno(err, "file_remove", "%s", path);
    wanted[ATTEMPT_FILE_STDOUT] = entry->sizes[ARCHIVE_STDOUT] >= 0;
    wanted[ATTEMPT_FILE_STDERR] = entry->sizes[ARCHIVE_STDERR] >= 0;
    if (dir >= 0) {
        a->changed = !is_unchanged(dir, entry);
        if (!a->changed && remove_files(dir, attempt_files, wanted, ATTEMPT_FILES) < 0 && !is_closed_to_us(errno))
            rc = error_errno(err, "file_remove", "%s", path);
        close(dir);
    }
    if (rc == 0 && !a->changed) {
        rmdir(path);
        if (a->last)
            member_dir_remove_empty(member);
    }
    free(path);
    free(member);
    return rc;
}

/* Returns whether the directory has nothing but files of ours. */
static bool has_only_our_files(DIR *dir)
{
    const struct dirent *entry;

    while ((entry = readdir(dir)) != NULL) {
        bool known = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;

        for (size_t i = 0; i < JOB_FILES; i++)
            known |= strcmp(entry->d_name, job_files[i]) == 0;
        if (!known)
            return false;
    }
    return true;
}

/* Removes the directory of a job. It gets another name first, all at once: a second runner, which may come at any time,
 * finds either the job with its claim, or no job. */
static int remove_job(const struct archiving *p, const struct archiving_job *job, struct error *err)
{
    char *path = job_dir(p, job), *over = xasprintf("%s.over", path);
    DIR *dir = opendir(path);
    int rc = 0, fd;

    if (dir != NULL && has_only_our_files(dir) && rename(path, over) < 0 && !is_closed_to_us(errno) &&
        errno != ENOTEMPTY && errno != EEXIST)
        rc = error_errno(err, "file_remove", "%s", path);
    if (dir != NULL)
        closedir(dir);
    fd = rc == 0 ? open(over, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (remove_files(fd, job_files, NULL, JOB_FILES) < 0 && !is_closed_to_us(errno))
            rc = error_errno(err, "file_remove", "%s", over);
        close(fd);
        rmdir(over);
    }
    free(over);
    free(path);
    return rc;
}

/* Archive files that are open for archiving_remove(). */
struct archive_reading {
    int fd;
    int64_t number;
};

/* Reads the line of an attempt's entry. Returns 1, 0 if it is not there, or -1. */
static int read_entry(const struct archiving *p, const struct archiving_attempt *a, struct archive_reading *files,
                      struct archive_entry *entry, struct error *err)
{
    enum archive_kind kind = a->kind;
    struct archive_reading *file = &files[kind];
    int64_t parts;
    int rc;

    if (file->fd < 0 || file->number != a->file) {
        char *path = archive_path(p->run_dir, p->ensemble, kind, a->file);

        if (file->fd >= 0)
            close(file->fd);
        file->number = a->file;
        file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (file->fd < 0)
            error_errno(err, "file_read", "%s", path);
        free(path);
        if (file->fd < 0)
            return errno == ENOENT ? 0 : -1;
    }
    rc = archive_entry_read(file->fd, a->at, entry, &parts, err);
    return rc == 1 && (entry->index != a->index || entry->attempt != a->number) ? 0 : rc;
}

int archiving_remove(struct archiving *p, struct error *err)
{
    struct archive_reading files[ARCHIVE_KINDS] = {{.fd = -1}, {.fd = -1}};
    int rc = 0;

    for (size_t i = 0; i < p->n_jobs && rc >= 0; i++) {
        struct archiving_job *job = &p->jobs[i];

        for (size_t n = 0; n < job->n && rc >= 0; n++) {
            struct archiving_attempt *a = &p->attempts[job->first + n];
            struct archive_entry entry;

            if (!a->archived)
                continue;
            rc = read_entry(p, a, files, &entry, err);
            a->changed = rc == 0; /* without its copy, the original is all that there is */
            if (rc == 1)
                rc = remove_archived_attempt(p, a, &entry, err);
            job->whole &= !a->changed;
        }
        if (rc >= 0 && job->whole)
            rc = remove_job(p, job, err);
    }
    for (size_t kind = 0; kind < ARCHIVE_KINDS; kind++)
        if (files[kind].fd >= 0)
            close(files[kind].fd);
    return rc < 0 ? -1 : 0;
}

void archiving_clear(struct archiving *p)
{
    free(p->jobs);
    free(p->attempts);
    p->jobs = NULL;
    p->attempts = NULL;
    p->n_jobs = p->n_attempts = 0;
}
