/* Reads on in the files in which runners hand over points of metrics, each job at its own pace. A job's files are read
 * soon again if there was something new, and later and later if there was nothing. Jobs that are due at the same time
 * are read together. */
#include "daemon/engine/jobs/feed.h"

#include "common/log.h"
#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/store/attempt.h"
#include "daemon/store/member.h"
#include "daemon/store/series.h"
#include "tasks/proto/points.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 60000 /* of a job whose tasks report nothing */
#define EACH_MS 20         /* files are read so often that there is one such time for each, at least */
#define GRAIN_MS 1000      /* pauses are multiples of this */
#define SERIES_KNOWN 8     /* of a slot */
#define BATCH_MAX 128      /* files that one order has read */
#define BATCHES_MAX 4      /* orders under way: others go on if a file hangs */

/* An order to read files: the slots that they are of, those of a job side by side. */
struct feed_batch {
    struct ticket *ticket;
    struct part {
        int64_t job;
        size_t slot;
    } parts[BATCH_MAX];
};

/* The series to which one piece of a file adds points. */
struct open_series {
    struct engine *engine;
    struct live_job *job;
    struct slot *slot;
    struct series_row *rows; /* those that the slot knows, and others behind them */
    size_t n, last;
    double progress; /* the last one that was told; below 0: none was */
};

static struct series_row *open_series(struct open_series *open, const char *name)
{
    struct series_row *row;
    struct error err;

    for (size_t i = 1; i <= open->n; i++) { /* lines mostly have the same names in the same order */
        size_t at = (open->last + i) % open->n;

        if (strcmp(open->rows[at].name, name) == 0) {
            open->last = at;
            return &open->rows[at];
        }
    }
    open->rows = xrealloc(open->rows, open->n + 1, sizeof *open->rows);
    row = &open->rows[open->n];
    if (store_series_open(open->engine->store, open->job->row.ensemble, open->slot->index, name, row, &err) != 1)
        return NULL; /* the member has too many series, or the transaction is doomed */
    open->last = open->n++;
    return row;
}

/* Reports a point by which it is decided whether the member runs on (stop_only.h). */
static void post_point(const struct open_series *open, const struct series_row *series,
                       const struct series_point *point)
{
    struct fact *fact = fact_post(open->engine, FACT_POINT, open->job->row.ensemble, open->job->row.id);

    fact->slot = (size_t)(open->slot - open->job->slots);
    fact->of.metric.point = *point;
    fact->of.metric.best = open->job->ensemble->spec->stopping.more_is_better ? series->max : series->min;
}

static void feed_take_line(struct open_series *open, const char *line, const char *end)
{
    const struct spec *spec = open->job->ensemble->spec;
    char name[POINTS_NAME_MAX + 1];
    struct points_point p;
    struct series_row *row;
    struct series_point point;
    char notice[POINTS_NOTICE_MAX];
    struct error err;

    if (points_read_notice(line, end, notice) == 0) {
        store_attempt_notice(open->engine->store, open->job->row.ensemble, open->slot->index, open->slot->number,
                             notice, &err);
        return;
    }
    if (points_read(line, end, name, &p) < 0 || (row = open_series(open, name)) == NULL)
        return;
    point = (struct series_point){p.step,  p.last_step,  p.time_ms, p.last_time_ms, open->slot->number,
                                  p.count, p.not_finite, p.first,   p.last,         p.min,
                                  p.max,   p.area,       p.within};
    store_series_add(open->engine->store, row, &point, spec->metrics.points, &err);
    if (spec_stops_only(spec) && strcmp(name, spec->stopping.metric) == 0)
        post_point(open, row, &point);
    if (strcmp(name, POINTS_PROGRESS) == 0)
        open->progress = p.last;
}

/* Lets the slot keep a few series in memory until the next time. A series to which something else adds would become
 * wrong: so the slot does not keep the one that its training may add to. */
static void slot_keep_series(struct slot *slot, struct open_series *open)
{
    size_t n = 0;

    for (size_t i = 0; i < open->n && n < SERIES_KNOWN; i++)
        if (strcmp(open->rows[i].name, SERIES_STATISTIC) != 0)
            open->rows[n++] = open->rows[i];
    slot->series = n > 0 ? xrealloc(open->rows, n, sizeof *open->rows) : NULL;
    slot->n_series = n;
    if (n == 0)
        free(open->rows);
}

/* Stores the points of whole lines, and with each series how far the file has then been read. Lines that add to no
 * series may be read again after a restart, and add to none again. */
static void feed_take(struct engine *engine, struct live_job *job, struct slot *slot, const char *text, size_t size)
{
    struct open_series open = {
        .engine = engine, .job = job, .slot = slot, .rows = slot->series, .n = slot->n_series, .progress = -1};
    int64_t ensemble = job->row.ensemble;
    struct error err;

    slot->series = NULL;
    for (const char *line = text, *end; (end = memchr(line, '\n', (size_t)(text + size - line))) != NULL;
         line = end + 1)
        feed_take_line(&open, line, end);
    stretto_assert(slot->open);
    slot->points_read += (int64_t)size;
    for (size_t i = 0; i < open.n; i++) {
        if (!open.rows[i].changed)
            continue;
        open.rows[i].file_attempt = slot->number;
        open.rows[i].file_read = slot->points_read;
        store_series_save(engine->store, &open.rows[i], &err);
    }
    if (open.progress >= 0)
        store_member_progress(engine->store, ensemble, slot->index, open.progress, &err);
    slot_keep_series(slot, &open);
}

static bool slot_wants_reading(const struct live_job *job, const struct slot *slot)
{
    return slot->open && (job->feed.state == FEED_REST ? slot->points_size > slot->points_read : true);
}

/* Goes on to the first slot that is to be read, from `at` on. */
static void feed_skip_slots(struct live_job *job)
{
    while (job->feed.at < job->n_slots && !slot_wants_reading(job, &job->slots[job->feed.at]))
        job->feed.at++;
}

/* Sets when the files are read next. Jobs with the same pause are due at the same times, so that one transaction stores
 * what all of them have new: a commit costs as much as many points. */
static void feed_set_alarm(struct engine *engine, struct live_job *job)
{
    int64_t least = engine->feeds.slots * EACH_MS, now = engine_now(engine);
    int64_t pause = job->feed.pause_ms > least ? job->feed.pause_ms : least;

    pause += (GRAIN_MS - pause % GRAIN_MS) % GRAIN_MS;
    alarm_set(engine, &job->feed.alarm, now + pause - now % pause);
}

/* Has the files of the job read from the slot `at` on. */
static void feed_queue(struct engine *engine, struct live_job *job)
{
    job->feed.asked = false;
    stretto_assert(job->feed.state == FEED_NEWS || job->feed.state == FEED_REST);
    DL_APPEND2(engine->feeds.jobs, job, feed.prev, feed.next);
}

static void begin_look(struct engine *engine, struct live_job *job, int state)
{
    stretto_assert(job->feed.state == FEED_IDLE);
    job->feed.state = state;
    job->feed.at = 0;
    feed_queue(engine, job);
}

/* Begins a collection again that waited for the points. */
static void go_on_collecting(struct engine *engine, struct live_job *job)
{
    if (job->state.pending != PENDING_COLLECT)
        return;
    job_post(engine, job, EVENT_COLLECTED);
    job->found.look = true;
    job_touch(engine, job);
}

/* Ends a look at all slots of the job. */
static void end_look(struct engine *engine, struct live_job *job)
{
    struct job_feed *feed = &job->feed;
    bool rest = feed->state == FEED_REST;

    feed->state = FEED_IDLE;
    if (feed->rest_wanted) {
        feed->rest_wanted = false;
        begin_look(engine, job, FEED_REST);
        return;
    }
    feed->pause_ms = feed->found ? PAUSE_MIN_MS : feed->pause_ms * 2 < PAUSE_MAX_MS ? feed->pause_ms * 2 : PAUSE_MAX_MS;
    feed_set_alarm(engine, job);
    if (rest)
        go_on_collecting(engine, job);
}

/* Handles the new points of the slot's file. Returns whether the slot needs no other reading in this look. */
static bool take_file(struct engine *engine, struct live_job *job, struct slot *slot, const struct rundir_tail *file)
{
    bool rest = job->feed.state == FEED_REST;

    if (file->left)
        return false;
    if (file->size > 0 && slot->open) {
        feed_take(engine, job, slot, file->text, file->size);
        job->feed.found = true;
    } else if (rest && slot->points_size > slot->points_read) {
        log_warn_of(LOG_JOB(job->row.ensemble, job->row.name),
                    "member %lld.%lld attempt %lld: the last metrics that it reported are lost: %s",
                    (long long)job->row.ensemble, (long long)slot->index, (long long)slot->number,
                    file->failed != 0 ? strerror(file->failed)
                                      : "its file of points is shorter than its exit record says");
        slot->points_size = slot->points_read;
        slot->points_lost = true;
    }
    return !rest || slot->points_size <= slot->points_read;
}

/* Handles the new points of one job's files, those from `of` up to but without `end`. */
static void take_job(struct engine *engine, struct live_job *job, const struct part *of, const struct part *end,
                     const struct rundir_tail *files)
{
    struct job_feed *feed = &job->feed;
    size_t next = end[-1].slot + 1;

    for (const struct part *part = of; part < end; part++)
        if (!take_file(engine, job, &job->slots[part->slot], &files[part - of]) && part->slot < next)
            next = part->slot;
    feed->at = next;
    feed_skip_slots(job);
    if (feed->at < job->n_slots)
        feed_queue(engine, job);
    else
        end_look(engine, job);
}

static void were_read(void *arg, const struct rundir_tail *files, size_t n)
{
    struct feed_batch *batch = arg;
    int64_t none;
    struct engine *engine = ticket_redeem(batch->ticket, &none);

    if (engine != NULL) {
        engine->feeds.orders--;
        stretto_assert(engine->feeds.orders >= 0);
        for (size_t i = 0, end; i < n; i = end) {
            struct live_job *job = engine_find_job(engine, batch->parts[i].job);

            for (end = i + 1; end < n && batch->parts[end].job == batch->parts[i].job; end++) {
            }
            if (job != NULL)
                take_job(engine, job, &batch->parts[i], &batch->parts[end], &files[i]);
        }
        engine_settle(engine);
    }
    free(batch);
}

/* Adds files of the job to an order, as many as there is room for. */
static size_t ask_for(struct engine *engine, struct live_job *job, struct feed_batch *batch, struct rundir_tail *files,
                      size_t n)
{
    for (size_t at = job->feed.at; at < job->n_slots && n < BATCH_MAX; at++) {
        const struct slot *slot = &job->slots[at];
        char *dir;

        if (!slot_wants_reading(job, slot))
            continue;
        dir = engine_attempt_dir(engine, job->row.ensemble, slot->index, slot->number);
        files[n] = (struct rundir_tail){.path = xasprintf("%s/" POINTS_FILE, dir), .offset = slot->points_read};
        batch->parts[n++] = (struct part){job->row.id, at};
        free(dir);
    }
    return n;
}

void feed_read(struct engine *engine)
{
    struct live_job *job;

    while (engine->feeds.jobs != NULL && engine->feeds.orders < BATCHES_MAX) {
        struct feed_batch *batch = xcalloc(1, sizeof *batch);
        struct rundir_tail *files = xcalloc(BATCH_MAX, sizeof *files);
        size_t n = 0;

        batch->ticket = ticket_new(engine, 0);
        while (n < BATCH_MAX && (job = engine->feeds.jobs) != NULL) {
            size_t before = n;

            DL_DELETE2(engine->feeds.jobs, job, feed.prev, feed.next);
            job->feed.asked = true;
            n = ask_for(engine, job, batch, files, n);
            if (n == before)
                end_look(engine, job); /* none of its slots wants anything any more */
        }
        if (n == 0) {
            free(batch->ticket);
            free(batch);
            free(files);
            continue;
        }
        engine->feeds.orders++;
        engine->ports.rundir_ops->tails(engine->ports.rundir, files, n, were_read, batch);
    }
}

static void feed_alarm_rang(struct engine *engine, struct alarm *alarm)
{
    struct live_job *job = heap_entry(alarm, struct live_job, feed.alarm);

    if (job->feed.state != FEED_IDLE)
        return;
    job->feed.found = false;
    begin_look(engine, job, FEED_NEWS);
}

void feed_begin(struct engine *engine, struct live_job *job)
{
    if (job->row.kind != JOB_MEMBERS || job->feed.state != FEED_NONE)
        return;
    engine->feeds.slots += (int64_t)job->n_slots;
    job->feed.state = FEED_IDLE;
    job->feed.alarm.ring = feed_alarm_rang;
    job->feed.pause_ms = PAUSE_MIN_MS;
    feed_set_alarm(engine, job);
}

void feed_end(struct engine *engine, struct live_job *job)
{
    if (job->feed.state == FEED_NONE)
        return;
    if (job->feed.state != FEED_IDLE && !job->feed.asked)
        DL_DELETE2(engine->feeds.jobs, job, feed.prev, feed.next);
    engine->feeds.slots -= (int64_t)job->n_slots;
    stretto_assert(engine->feeds.slots >= 0);
    job->feed.state = FEED_NONE;
    alarm_set(engine, &job->feed.alarm, INT64_MAX);
}

bool feed_lacks(struct slot *slot, int64_t size)
{
    if (slot->points_lost || size <= slot->points_read)
        return false;
    slot->points_size = size;
    return true;
}

void feed_rest(struct engine *engine, struct live_job *job)
{
    feed_begin(engine, job);
    if (job->feed.state != FEED_IDLE) {
        job->feed.rest_wanted = true;
        return;
    }
    alarm_set(engine, &job->feed.alarm, INT64_MAX);
    begin_look(engine, job, FEED_REST);
}
