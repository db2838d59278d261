#define XXH_INLINE_ALL
#include "tasks/proto/ckptdir.h"

#include "common/below.h"
#include "common/files.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define RECORDS ".stretto"
#define READ_SIZE ((size_t)1 << 20)

void ckpt_fini(struct ckpt *ckpt)
{
    free(ckpt->path);
    ckpt->path = NULL;
    json_decref(ckpt->sent);
    ckpt->sent = NULL;
}

void ckptdir_free(struct ckpt_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        ckpt_fini(&list->items[i]);
    free(list->items);
    held_free(&list->streams);
    *list = (struct ckpt_list){0};
}

static char *record_path(const char *dir, int64_t number)
{
    return alloc_printf("%s/" RECORDS "/%08" PRId64 ".json", dir, number);
}

char *ckptdir_records(const char *dir)
{
    return alloc_printf("%s/" RECORDS, dir);
}

static int ckptdir_no_memory(struct error *err)
{
    errno = ENOMEM;
    return error_set(err, "checkpoint_memory", "no memory for the records of checkpoints");
}

int ckptdir_make(const char *dir, struct error *err)
{
    char *path = ckptdir_records(dir);
    int rc = path != NULL ? dir_make(path, err) : ckptdir_no_memory(err);

    free(path);
    return rc;
}

json_t *ckpt_json(const struct ckpt *ckpt)
{
    return json_pack("{s:I, s:s, s:o, s:b, s:I, s:s, s:f, s:I, s:I}", "number", (json_int_t)ckpt->number, "path",
                     ckpt->path, "step", ckpt->step < 0 ? json_null() : json_integer(ckpt->step), "reported",
                     ckpt->reported, "size", (json_int_t)ckpt->size, "digest", ckpt->digest, "time", ckpt->time,
                     "ensemble", (json_int_t)ckpt->ensemble, "attempt", (json_int_t)ckpt->attempt);
}

static int64_t ckpt_integer(const json_t *json, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(json, key);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

bool ckpt_parse(const json_t *json, struct ckpt *ckpt)
{
    const char *path = json_string_value(json_object_get(json, "path"));
    const char *digest = json_string_value(json_object_get(json, "digest"));
    json_t *sent = json_object_get(json, "sent");

    *ckpt = (struct ckpt){
        .number = ckpt_integer(json, "number", -1),
        .step = ckpt_integer(json, "step", -1),
        .reported = json_is_true(json_object_get(json, "reported")),
        .size = ckpt_integer(json, "size", -1),
        .time = json_number_value(json_object_get(json, "time")),
        .ensemble = ckpt_integer(json, "ensemble", 0),
        .attempt = ckpt_integer(json, "attempt", 0),
        .mtime_ns = ckpt_integer(json, "mtime_ns", 0),
        .inode = ckpt_integer(json, "inode", 0),
    };
    if (path == NULL || path[0] == '\0' || !path_stays_below(path) || digest == NULL ||
        strlen(digest) != CKPT_DIGEST_SIZE - 1 || ckpt->number < 0 || ckpt->size < 0)
        return false;
    memcpy(ckpt->digest, digest, CKPT_DIGEST_SIZE);
    ckpt->path = strdup(path);
    if (ckpt->path == NULL)
        return false;
    ckpt->sent = json_is_object(sent) ? json_incref(sent) : NULL;
    return true;
}

static int ckpt_list_add(struct ckpt_list *list, struct ckpt *ckpt, struct error *err)
{
    struct ckpt *larger = reallocarray(list->items, list->n + 1, sizeof *ckpt);

    if (larger == NULL) {
        ckpt_fini(ckpt);
        return ckptdir_no_memory(err);
    }
    list->items = larger;
    list->items[list->n++] = *ckpt;
    return 0;
}

/* Adds a record to the list. A record that cannot be read is left out. */
static int read_record(const char *dir, int64_t number, struct ckpt_list *list, struct error *err)
{
    char *path = record_path(dir, number);
    struct error why;
    json_t *json;
    struct ckpt ckpt;
    int rc = 0;

    if (path == NULL)
        return ckptdir_no_memory(err);
    json = file_read_json(path, &why);
    free(path);
    if (json != NULL && ckpt_parse(json, &ckpt)) {
        ckpt.number = number;
        rc = ckpt_list_add(list, &ckpt, err);
    }
    json_decref(json);
    return rc;
}

static int by_number(const void *a, const void *b)
{
    const struct ckpt *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns the number in a record's name, -1 for another name. */
static int64_t record_number(const char *name)
{
    size_t digits = strspn(name, "0123456789");

    return digits > 0 && digits < 19 && strcmp(name + digits, ".json") == 0 ? strtoll(name, NULL, 10) : -1;
}

/* Reads the directory of the records. Sets *highest to the highest number in a record's name, or 0. Adds to the list
 * the streams and, if they are wanted, the records. */
static int look_through(const char *dir, struct ckpt_list *list, bool records_too, int64_t *highest, struct error *err)
{
    char *path = ckptdir_records(dir);
    DIR *records = path != NULL ? opendir(path) : NULL;
    struct dirent *entry;
    int rc = 0;

    *highest = 0;
    if (path == NULL)
        return ckptdir_no_memory(err);
    if (records == NULL) {
        rc = errno == ENOENT || errno == ENOTDIR ? 0 : error_errno(err, "checkpoints", "%s", path);
        free(path);
        return rc;
    }
    while (errno = 0, rc == 0 && (entry = readdir(records)) != NULL) {
        int64_t number = record_number(entry->d_name);

        if (number > *highest)
            *highest = number;
        if (number < 0)
            rc = held_read(path, entry->d_name, &list->streams, err);
        else if (records_too)
            rc = read_record(dir, number, list, err);
    }
    if (rc == 0 && errno != 0)
        rc = error_errno(err, "checkpoints", "%s", path);
    closedir(records);
    free(path);
    return rc;
}

int ckptdir_read(const char *dir, struct ckpt_list *list, struct error *err)
{
    int64_t highest;
    int rc;

    *list = (struct ckpt_list){0};
    rc = look_through(dir, list, true, &highest, err);
    if (rc < 0)
        ckptdir_free(list);
    else if (list->n > 1)
        qsort(list->items, list->n, sizeof *list->items, by_number);
    return rc;
}

int64_t ckpt_mtime_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static _Thread_local bool (*stop_reading)(const void *arg);
static _Thread_local const void *stop_arg;

void ckptdir_heed(bool (*stopped)(const void *arg), const void *arg)
{
    stop_reading = stopped;
    stop_arg = arg;
}

static bool file_is_unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && ckpt_mtime_ns(a) == ckpt_mtime_ns(b);
}

/* Returns 0, or -1 with errno. */
static int digest_of(int fd, char digest[CKPT_DIGEST_SIZE], int64_t *size)
{
    XXH3_state_t *state = XXH3_createState();
    char *buf = malloc(READ_SIZE);
    ssize_t n;

    if (state == NULL || buf == NULL) {
        XXH3_freeState(state);
        free(buf);
        errno = ENOMEM;
        return -1;
    }
    XXH3_64bits_reset(state);
    *size = 0;
    while ((n = read(fd, buf, READ_SIZE)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0) {
            XXH3_64bits_update(state, buf, (size_t)n);
            *size += n;
        }
        if (n == READ_SIZE && stop_reading != NULL && stop_reading(stop_arg)) { /* small files are read */
            errno = ECANCELED;
            n = -1;
            break;
        }
    }
    snprintf(digest, CKPT_DIGEST_SIZE, "%016" PRIx64, (uint64_t)XXH3_64bits_digest(state));
    XXH3_freeState(state);
    free(buf);
    return n < 0 ? -1 : 0;
}

int ckpt_measure(const char *dir, struct ckpt *ckpt, struct error *err)
{
    char *path = alloc_printf("%s/%s", dir, ckpt->path);
    int fd = path != NULL ? below_open(dir, ckpt->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) : -1, rc = -1;
    struct stat before, after;
    int64_t size;

    if (path == NULL)
        return ckptdir_no_memory(err);
    if (fd < 0 && errno == ELOOP) {
        error_set(err, "checkpoint",
                  "%s: a symbolic link leads to it, and a checkpoint must lie below the checkpoint directory", path);
    } else if (fd < 0 || fstat(fd, &before) < 0) {
        error_errno(err, "checkpoint", "%s", path);
    } else if (!S_ISREG(before.st_mode)) {
        errno = EBUSY;
        error_set(err, "checkpoint", "%s is no regular file", path);
    } else if (digest_of(fd, ckpt->digest, &size) < 0 || stat(path, &after) < 0) {
        error_errno(err, "checkpoint", "%s", path);
    } else if (!file_is_unchanged(&before, &after) || size != before.st_size) {
        errno = EBUSY;
        error_set(err, "checkpoint", "%s is still being written", path);
    } else {
        ckpt->size = size;
        ckpt->mtime_ns = ckpt_mtime_ns(&before);
        ckpt->inode = (int64_t)before.st_ino;
        rc = 0;
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

/* Returns the form in which a record is stored. */
static json_t *record_json(const struct ckpt *ckpt)
{
    json_t *json = ckpt_json(ckpt);

    if (json_object_set_new(json, "mtime_ns", json_integer(ckpt->mtime_ns)) == 0 &&
        json_object_set_new(json, "inode", json_integer(ckpt->inode)) == 0 &&
        (ckpt->sent == NULL || json_object_set(json, "sent", ckpt->sent) == 0))
        return json;
    json_decref(json);
    return NULL;
}

/* Stores the record under the next number that is free: another process may store one at the same time. */
static int store_record(const char *dir, struct ckpt *ckpt, struct error *err)
{
    char *path;
    int rc;

    do {
        json_t *json = record_json(ckpt);

        errno = 0;
        path = record_path(dir, ckpt->number);
        if (json == NULL)
            rc = error_set(err, "checkpoint",
                           "the name of a checkpoint is not UTF-8, or there is no memory for its record");
        else if (path == NULL)
            rc = ckptdir_no_memory(err);
        else
            rc = file_create_json(path, json, 0600, err);
        json_decref(json);
        free(path);
    } while (rc < 0 && errno == EEXIST && strcmp(err->code, "file_exists") == 0 && ckpt->number++ < INT64_MAX);
    return rc;
}

/* The file is complete by now, so the samples that it covers were sent before. */
int ckptdir_add(const char *dir, struct ckpt *ckpt, struct error *err)
{
    struct ckpt_list list = {0};
    int64_t highest;
    bool told;
    int rc;

    if (ckptdir_make(dir, err) < 0)
        return -1;
    rc = look_through(dir, &list, false, &highest, err);
    if (rc == 0) {
        told = held_sent(&list.streams, ckpt->ensemble, ckpt->attempt, &ckpt->sent);
        ckpt->number = highest + 1;
        ckpt->time = (double)time_now_ms() / 1000;
        rc = told ? store_record(dir, ckpt, err)
                  : error_set(err, "checkpoint",
                              "%s: a stream of this attempt is not closed, and was opened on another host, so that "
                              "nobody can tell what it had sent before",
                              ckpt->path);
        json_decref(ckpt->sent);
        ckpt->sent = NULL;
    }
    ckptdir_free(&list);
    return rc;
}

static bool ckpt_is_untouched(const char *dir, const struct ckpt *ckpt, bool *same_size)
{
    char *path = xasprintf("%s/%s", dir, ckpt->path);
    struct stat st;
    bool there = lstat(path, &st) == 0 && S_ISREG(st.st_mode);

    free(path);
    *same_size = there && st.st_size == ckpt->size;
    return *same_size && ckpt_mtime_ns(&st) == ckpt->mtime_ns && (int64_t)st.st_ino == ckpt->inode;
}

/* Tells whether its file is as it was recorded: by size, and by content unless nobody has touched it; `read` true: by
 * content in any case. */
static bool ckpt_fits(const char *dir, const struct ckpt *ckpt, bool read)
{
    struct ckpt now = *ckpt;
    struct error err;
    bool same_size;

    if (ckpt_is_untouched(dir, ckpt, &same_size) && !read)
        return true;
    return same_size && ckpt_measure(dir, &now, &err) == 0 && now.size == ckpt->size &&
           strcmp(now.digest, ckpt->digest) == 0;
}

bool ckpt_counts(const struct ckpt_chain *chain, int64_t ensemble, int64_t attempt)
{
    return chain->since == 0 || ensemble > chain->ensemble || (ensemble == chain->ensemble && attempt >= chain->since);
}

static bool in_chain(const struct ckpt *ckpt, const struct ckpt_chain *chain)
{
    return ckpt_counts(chain, ckpt->ensemble, ckpt->attempt);
}

/* Returns whether there is a newer record of the same file. */
static bool ckpt_is_superseded(const struct ckpt_list *list, size_t i)
{
    for (size_t later = i + 1; later < list->n; later++)
        if (strcmp(list->items[later].path, list->items[i].path) == 0)
            return true;
    return false;
}

static bool ckpt_is_held(const struct ckpt_list *list, const struct ckpt *ckpt, const struct ckpt_chain *chain)
{
    return held_covers(&list->streams, ckpt->ensemble, ckpt->attempt, ckpt->sent, chain->generation);
}

/* Returns whether another attempt may go on from it, as far as the records show. */
static bool may_be_offered(const struct ckpt_list *list, size_t i, const struct ckpt_chain *chain)
{
    return in_chain(&list->items[i], chain) && !ckpt_is_superseded(list, i) &&
           ckpt_is_held(list, &list->items[i], chain);
}

const struct ckpt *ckptdir_newest(const char *dir, const struct ckpt_list *list, const struct ckpt_chain *chain)
{
    for (size_t i = list->n; i-- > 0;)
        if (may_be_offered(list, i, chain) && ckpt_fits(dir, &list->items[i], true))
            return &list->items[i];
    return NULL;
}

static void remove_below(const char *dir, const char *name)
{
    below_unlink(dir, name); /* what a link leads to is not ours to remove */
}

static void remove_record(const char *dir, const struct ckpt *ckpt)
{
    char *path = record_path(dir, ckpt->number);

    unlink(path);
    free(path);
}

static bool ckpt_is_there(const char *dir, const struct ckpt *ckpt)
{
    char *path = xasprintf("%s/%s", dir, ckpt->path);
    struct stat st;
    bool there = lstat(path, &st) == 0 || errno != ENOENT;

    free(path);
    return there;
}

/* Removes the account of an attempt's streams once neither that attempt nor an earlier one has a record. */
static void forget_streams(const char *dir, const struct ckpt_list *list, int64_t first_ensemble, int64_t first_attempt)
{
    char *records = ckptdir_records(dir);

    for (size_t i = 0; i < list->streams.n; i++) {
        const struct held_stream *s = &list->streams.items[i];

        if (s->ensemble < first_ensemble || (s->ensemble == first_ensemble && s->attempt < first_attempt))
            held_remove(records, s);
    }
    free(records);
}

void ckptdir_retain(const char *dir, const struct ckpt_list *list, int64_t keep, const struct ckpt_chain *chain)
{
    const struct ckpt *oldest = NULL; /* of the records that stay */
    int64_t kept = 0;

    for (size_t i = list->n; i-- > 0;) {
        const struct ckpt *ckpt = &list->items[i];
        bool same_size, gone = ckpt_is_superseded(list, i) || !ckpt_is_there(dir, ckpt);

        if (!gone && kept >= keep && ckpt_is_untouched(dir, ckpt, &same_size)) {
            remove_below(dir, ckpt->path);
            gone = true;
        } else if (!gone && kept < keep && ckpt_is_held(list, ckpt, chain) && ckpt_fits(dir, ckpt, false)) {
            kept++;
        }
        if (gone && i + 1 < list->n) /* the highest number stays, so that no number is given twice */
            remove_record(dir, ckpt);
        else if (oldest == NULL || ckpt->ensemble < oldest->ensemble ||
                 (ckpt->ensemble == oldest->ensemble && ckpt->attempt < oldest->attempt))
            oldest = ckpt;
    }
    if (oldest != NULL)
        forget_streams(dir, list, oldest->ensemble, oldest->attempt);
}

json_t *ckptdir_json(const char *dir, const struct ckpt_chain *chain, struct error *err)
{
    struct ckpt_list list;
    json_t *json;

    if (ckptdir_read(dir, &list, err) < 0)
        return NULL;
    json = json_array();
    for (size_t i = list.n; i-- > 0;)
        if (may_be_offered(&list, i, chain) && ckpt_fits(dir, &list.items[i], false))
            json_array_append_new(json, ckpt_json(&list.items[i]));
    ckptdir_free(&list);
    return json;
}
