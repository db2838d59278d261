#include "tasks/runner/records.h"

#include "common/backoff.h"
#include "common/log.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdlib.h>

#define BACKOFF_FIRST_MS 100
#define BACKOFF_MAX_MS 10000
#define TRY_AT_LEAST_MS 10000

struct record {
    struct record *next;
    char *path;
    int (*write)(const char *path, const void *what, struct error *err);
    const void *what;
};

struct records {
    int64_t (*clock)(void);
    void (*written)(void *arg);
    void *arg;
    struct record *first, **last;
    int64_t failing_since; /* 0: the last write succeeded */
    int64_t due;
    int64_t failures; /* in a row */
    bool lost;
};

struct records *records_create(int64_t (*clock)(void), void (*written)(void *arg), void *arg)
{
    struct records *r = xcalloc(1, sizeof *r);

    r->clock = clock;
    r->written = written;
    r->arg = arg;
    r->last = &r->first;
    return r;
}

static void drop_first(struct records *r)
{
    struct record *record = r->first;

    r->first = record->next;
    if (r->first == NULL)
        r->last = &r->first;
    free(record->path);
    free(record);
}

void records_destroy(struct records *r)
{
    if (r == NULL)
        return;
    while (r->first != NULL)
        drop_first(r);
    free(r);
}

void records_add(struct records *r, const char *path, int (*write)(const char *path, const void *what, struct error *),
                 const void *what)
{
    struct record *record = xcalloc(1, sizeof *record);

    record->path = xstrdup(path);
    record->write = write;
    record->what = what;
    *r->last = record;
    r->last = &record->next;
}

/* Returns whether waiting may help. A missing directory, for example, does not come back. */
static bool error_is_transient(int error)
{
    static const int known[] = {ENOSPC, EDQUOT, EIO, ESTALE, EAGAIN, EINTR, ENOMEM, ENFILE, ETIMEDOUT, ENOLCK, EROFS};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (error == known[i])
            return true;
    return false;
}

static void records_postpone(struct records *r, int64_t now, const struct error *err)
{
    int64_t pause;

    if (r->failing_since == 0) {
        r->failing_since = now;
        r->failures = 0;
    }
    pause = backoff_ms(BACKOFF_FIRST_MS, ++r->failures, BACKOFF_MAX_MS);
    log_error("%s; trying again in %lld ms", err->text, (long long)pause);
    r->due = now + pause;
}

void records_work(struct records *r, int64_t give_up)
{
    int64_t now = r->clock();
    struct error err;
    bool wait;

    while (r->first != NULL && now >= r->due) {
        if (r->first->write(r->first->path, r->first->what, &err) == 0) {
            r->failing_since = r->due = 0;
            drop_first(r);
            r->written(r->arg);
            continue;
        }
        wait = error_is_transient(errno);
        now = r->clock(); /* a failing file system may take long to answer */
        if (r->failing_since != 0 && (now >= give_up || !wait) && now - r->failing_since >= TRY_AT_LEAST_MS) {
            log_error("%s; giving up: this record is lost", err.text);
            r->lost = true;
            r->due = 0;
            drop_first(r);
        } else {
            records_postpone(r, now, &err);
        }
    }
}

bool records_pending(const struct records *r)
{
    return r->first != NULL;
}

int64_t records_due(const struct records *r)
{
    return r->first != NULL ? r->due : INT64_MAX;
}

int64_t records_failing_since(const struct records *r)
{
    return r->failing_since;
}

bool records_lost(const struct records *r)
{
    return r->lost;
}
