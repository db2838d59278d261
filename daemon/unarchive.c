#include "daemon/unarchive.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/rundir/archive_file.h"
#include "daemon/store/attempt.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/archived.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct unarchiving {
    struct store *store;
    const char *run_dir;
    int64_t ensemble;
    int64_t returned; /* attempts that got their files back */
};

/* Writes one file back, unless it is there. */
static int write_back(const char *dir, const char *name, const char *text, int64_t size, struct error *err)
{
    char *path = xasprintf("%s/%s", dir, name);
    int rc = access(path, F_OK) == 0 ? 0 : file_write_whole(path, text, (size_t)size, 0600, err);

    free(path);
    return rc;
}

/* Gives an attempt its files back. The job's directory says that the job has ended. */
static int give_files_back(struct unarchiving *u, const struct attempt_row *row, const struct archive_entry *entry,
                           char *const texts[ARCHIVE_PARTS], struct error *err)
{
    static const char *const names[] = {"exit.json", "stdout", "stderr"};
    static const enum archive_part order[] = {ARCHIVE_STDOUT, ARCHIVE_STDERR, ARCHIVE_RECORD};
    static const char ended[] = "{\"version\":1,\"reason\":\"\"}\n";
    char *dir = xasprintf("%s/e%" PRId64 "/members/%" PRId64 "/%" PRId64 "/a%" PRId64, u->run_dir, u->ensemble,
                          entry->index / 1000, entry->index, entry->attempt);
    char *job = xasprintf("%s/e%" PRId64 "/jobs/%s", u->run_dir, u->ensemble, row->job_name);
    int rc = dir_make(dir, err) < 0 || dir_make(job, err) < 0 ? -1 : 0;

    for (size_t i = 0; i < sizeof order / sizeof *order && rc == 0; i++)
        if (entry->sizes[order[i]] >= 0)
            rc = write_back(dir, names[order[i]], texts[order[i]], entry->sizes[order[i]], err);
    if (rc == 0)
        rc = write_back(job, "ended.json", ended, sizeof ended - 1, err);
    u->returned += rc == 0;
    free(job);
    free(dir);
    return rc;
}

/* Returns whether the record in an archive is that of this attempt, which has another job if the archives are those
 * of another life of the database. */
static bool is_record_of(const struct attempt_row *row, const char *record)
{
    json_t *json = json_loads(record, 0, NULL);
    const char *job = json_string_value(json_object_get(json, "job"));
    bool is = job != NULL && strcmp(job, row->job_name) == 0;

    json_decref(json);
    return is;
}

static int take_entry(struct unarchiving *u, int fd, enum archive_kind kind, int64_t number, int64_t at, int64_t parts,
                      const struct archive_entry *entry, struct error *err)
{
    struct unarchived place = {
        .index = entry->index, .number = entry->attempt, .archive = number, .kind = kind, .at = at};
    struct attempt_row row;
    char *texts[ARCHIVE_PARTS] = {NULL};
    int rc = store_attempt_get(u->store, u->ensemble, entry->index, entry->attempt, &row, err);

    if (rc <= 0 || row.archive != 0 || row.released_ms != 0) /* it is known, or was made after the backup */
        return rc < 0 ? -1 : 0;
    rc = archive_parts_read(fd, entry, parts, texts, err);
    if (rc == 1 && texts[ARCHIVE_RECORD] != NULL && is_record_of(&row, texts[ARCHIVE_RECORD]))
        rc = row.end.outcome == ATTEMPT_OPEN ? give_files_back(u, &row, entry, texts, err)
                                             : store_archive_put(u->store, u->ensemble, &place, err);
    for (size_t i = 0; i < ARCHIVE_PARTS; i++)
        free(texts[i]);
    return rc < 0 ? -1 : 0;
}

static int take_archive_file(struct unarchiving *u, int dir, const char *name, struct error *err)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), rc = 1;
    enum archive_kind kind;
    struct archive_entry entry;
    int64_t number, at = 0, parts;

    if (fd < 0)
        return error_errno(err, "file_read", "%s", name);
    archive_name_parse(name, &kind, &number);
    while (rc == 1) {
        rc = archive_entry_read(fd, at, &entry, &parts, err);
        if (rc == 1 && take_entry(u, fd, kind, number, at, parts, &entry, err) < 0)
            rc = -1;
        at = rc == 1 ? archive_entry_end(&entry, parts) : at;
    }
    close(fd);
    return rc;
}

static int take_ensemble(struct unarchiving *u, struct error *err)
{
    char *path = xasprintf("%s/e%" PRId64, u->run_dir, u->ensemble);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    enum archive_kind kind;
    int64_t number;
    int rc = 0;

    while (dir != NULL && rc == 0 && (entry = readdir(dir)) != NULL)
        if (archive_name_parse(entry->d_name, &kind, &number))
            rc = take_archive_file(u, dirfd(dir), entry->d_name, err);
    if (dir != NULL)
        closedir(dir);
    free(path);
    return rc;
}

int unarchive_for_restore(struct store *store, const char *run_dir, struct error *err)
{
    struct unarchiving u = {.store = store, .run_dir = run_dir};
    DIR *dir = opendir(run_dir);
    const struct dirent *entry;
    int rc = 0, end;

    while (dir != NULL && rc == 0 && (entry = readdir(dir)) != NULL) {
        end = 0;
        if (sscanf(entry->d_name, "e%" SCNd64 "%n", &u.ensemble, &end) == 1 && end > 0 && entry->d_name[end] == '\0')
            rc = take_ensemble(&u, err);
    }
    if (dir != NULL)
        closedir(dir);
    if (u.returned > 0)
        log_info("%" PRId64 " attempts that were under way when the backup was made have ended since: their output is "
                 "taken back from archives",
                 u.returned);
    return rc;
}
