/* Reads on in the files in which runners hand over points of metrics, one job after the other, each job at its own pace:
 * soon again where there was something new, later and later where there was nothing. */
#include "daemon/engine/feed.h"

#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/rungs.h"
#include "daemon/engine/stop_only.h"
#include "daemon/store/member.h"
#include "daemon/store/series.h"
#include "tasks/proto/points.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 60000 /* of a job whose tasks report nothing */
#define EACH_MS 10         /* files are read so often that there is one such time for each, at least */
#define PIECE 65536        /* bytes of points that are stored in one turn of the loop */
#define GRAIN_MS 100       /* jobs are read together that are due within this time */

struct ticket_of_slot {
    struct ticket *ticket;
    size_t slot;
};

static void step(struct engine *engine, struct live_job *job);

/* The series to which one piece of a file adds points. */
struct open_series {
    struct engine *engine;
    struct live_job *job;
    struct slot *slot;
    struct series_row *rows;
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

static void take_line(struct open_series *open, const char *line, const char *end)
{
    const struct spec *spec = open->job->ensemble->spec;
    char name[POINTS_NAME_MAX + 1];
    struct points_point p;
    struct series_row *row;
    struct series_point point;
    struct error err;

    if (points_read(line, end, name, &p) < 0 || (row = open_series(open, name)) == NULL)
        return;
    point = (struct series_point){p.step, p.last_step, p.time_ms, p.last_time_ms, open->slot->number, p.count,
                                  p.not_finite, p.first, p.last, p.min, p.max, p.area};
    store_series_add(open->engine->store, row, &point, spec->metrics.points, &err);
    if (rungs_stop_only(spec) && strcmp(name, spec->stopping.metric) == 0)
        stop_only_take(open->engine, open->job, open->slot, row, &point);
    if (strcmp(name, POINTS_PROGRESS) == 0)
        open->progress = p.last;
}

/* Stores the points of the first whole lines, together with how far the file has then been read. */
static void take(struct engine *engine, struct live_job *job, struct slot *slot, const char *text, size_t size)
{
    struct open_series open = {.engine = engine, .job = job, .slot = slot, .progress = -1};
    int64_t ensemble = job->row.ensemble;
    const char *cut;
    struct error err;

    if (size > PIECE && (cut = memrchr(text, '\n', PIECE)) != NULL)
        size = (size_t)(cut - text) + 1;
    for (const char *line = text, *end; (end = memchr(line, '\n', (size_t)(text + size - line))) != NULL; line = end + 1)
        take_line(&open, line, end);
    for (size_t i = 0; i < open.n; i++)
        store_series_save(engine->store, &open.rows[i], &err);
    if (open.progress >= 0)
        store_member_progress(engine->store, ensemble, slot->index, open.progress, &err);
    slot->points_read += (int64_t)size;
    store_attempt_read(engine->store, ensemble, slot->index, slot->number, slot->points_read, &err);
    free(open.rows);
}

static bool wants(const struct live_job *job, const struct slot *slot)
{
    return slot->open && (job->feed.state == FEED_REST ? slot->points_size > slot->points_read : true);
}

static void set_alarm(struct engine *engine, struct live_job *job)
{
    int64_t least = engine->fed * EACH_MS, pause = job->feed.pause_ms, due;

    if (pause < least)
        pause = least;
    due = engine_now(engine) + pause;
    alarm_set(engine, &job->feed.alarm, due + GRAIN_MS - due % GRAIN_MS);
}

/* Ends a look at all slots of the job. */
static void end_look(struct engine *engine, struct live_job *job)
{
    struct feed *feed = &job->feed;
    bool rest = feed->state == FEED_REST;

    feed->state = FEED_IDLE;
    if (feed->rest_wanted) {
        feed->rest_wanted = false;
        feed->state = FEED_REST;
        feed->at = 0;
        step(engine, job);
        return;
    }
    feed->pause_ms = feed->found ? PAUSE_MIN_MS : feed->pause_ms * 2 < PAUSE_MAX_MS ? feed->pause_ms * 2 : PAUSE_MAX_MS;
    set_alarm(engine, job);
    if (rest)
        job_points_read(engine, job);
}

static void tailed(void *arg, const char *text, size_t size, const struct error *failed)
{
    struct ticket_of_slot *of = arg;
    size_t at = of->slot;
    int64_t id;
    struct engine *engine = ticket_redeem(of->ticket, &id);
    struct live_job *job = engine != NULL ? engine_find_job(engine, id) : NULL;
    struct slot *slot;

    free(of);
    if (job == NULL)
        return;
    slot = &job->slots[at];
    if (size > 0 && slot->open) {
        take(engine, job, slot, text, size);
        job->feed.found = true;
    } else if (job->feed.state == FEED_REST && slot->points_size > slot->points_read) {
        log_warn_of(LOG_JOB(job->row.ensemble, job->row.name),
                    "member %lld.%lld attempt %lld: the last metrics that it reported are lost: %s",
                    (long long)job->row.ensemble, (long long)slot->index, (long long)slot->number,
                    failed != NULL ? failed->text : "its file of points is shorter than its exit record says");
        slot->points_size = slot->points_read;
        slot->points_lost = true;
    }
    if (job->feed.state != FEED_REST || slot->points_size <= slot->points_read)
        job->feed.at++;
    step(engine, job);
    engine_settle(engine);
}

/* Reads the file of the next slot that wants it; after the last one the look is over. */
static void step(struct engine *engine, struct live_job *job)
{
    struct feed *feed = &job->feed;
    struct ticket_of_slot *of;
    struct slot *slot;
    char *dir;

    while (feed->at < job->n_slots && !wants(job, &job->slots[feed->at]))
        feed->at++;
    if (feed->at == job->n_slots) {
        end_look(engine, job);
        return;
    }
    slot = &job->slots[feed->at];
    of = xcalloc(1, sizeof *of);
    *of = (struct ticket_of_slot){ticket_new(engine, job->row.id), feed->at};
    dir = engine_attempt_dir(engine, job->row.ensemble, slot->index, slot->number);
    engine->ports.rundir_ops->tail(engine->ports.rundir, xasprintf("%s/" POINTS_FILE, dir), slot->points_read, tailed, of);
    free(dir);
}

static void ring(struct engine *engine, struct alarm *alarm)
{
    struct live_job *job = heap_entry(alarm, struct live_job, feed.alarm);

    if (job->feed.state != FEED_IDLE)
        return;
    job->feed.state = FEED_NEWS;
    job->feed.at = 0;
    job->feed.found = false;
    step(engine, job);
}

void feed_begin(struct engine *engine, struct live_job *job)
{
    if (job->row.kind != JOB_MEMBERS || job->feed.state != FEED_NONE)
        return;
    engine->fed += (int64_t)job->n_slots;
    job->feed.state = FEED_IDLE;
    job->feed.alarm.ring = ring;
    job->feed.pause_ms = PAUSE_MIN_MS;
    set_alarm(engine, job);
}

void feed_end(struct engine *engine, struct live_job *job)
{
    if (job->feed.state == FEED_NONE)
        return;
    engine->fed -= (int64_t)job->n_slots;
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
    job->feed.state = FEED_REST;
    job->feed.at = 0;
    step(engine, job);
}
