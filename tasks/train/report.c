#include "tasks/train/report.h"

#include "common/files.h"
#include "common/jsonx.h"
#include "common/log.h"
#include "common/text.h"
#include "common/thread.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/control.h"
#include "tasks/train/faults.h"
#include "tasks/train/tallies.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IDLE_SECONDS 5 /* an unchanged status is written again after this */
#define RATE_MS 500    /* no rate is computed for a shorter time */

struct report {
    const struct train_config *config;
    void (*stats)(void *arg, struct stretto_train_stats *stats);
    void *arg;
    char *metrics; /* path of the metrics' file */

    pthread_mutex_t lock; /* protects the queue, the rate and `stopping`; never held while writing */
    pthread_cond_t wake;
    bool stopping;
    char *queue; /* metric lines that are not yet in the file */
    size_t queued, room;
    struct tallies tallies; /* what was reported of members since the last time */
    double rate;

    pthread_mutex_t writing; /* protects the files and the last status */
    struct stretto_train_stats last;
    int64_t last_ms; /* monotonic; 0 before the first */
    bool done;
    bool early; /* the done record says so */
    pthread_t thread;
};

static void report_nudge(const struct report *r, enum control_what what)
{
    control_nudge(r->config->control, r->config->job, what);
}

static json_t *faults_json(const struct stretto_train_stats *s)
{
    json_t *faults = json_object();
    int rc = 0;

    for (int i = 0; i < FAULTS; i++)
        if (s->rejected_by[i] > 0)
            rc |= json_object_set_new(faults, fault_name(i), json_integer((json_int_t)s->rejected_by[i]));
    if (rc == 0)
        return faults;
    json_decref(faults);
    return NULL;
}

static json_t *draws_json(const struct stretto_train_stats *s)
{
    json_t *draws = json_array();
    int rc = 0;

    for (int i = 0; i < STRETTO_TRAIN_DRAWS; i++)
        rc |= json_array_append_new(draws, json_integer((json_int_t)s->draws[i]));
    if (rc == 0)
        return draws;
    json_decref(draws);
    return NULL;
}

/* NULL if there is no memory for all of it. */
static json_t *status_json(struct report *r, const struct stretto_train_stats *s)
{
    static const char *const states[] = {"waiting", "receiving", "draining", "done", "unfinished"};
    /* clang-format off */
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {
        {"received", s->received}, {"unique", s->unique},         {"duplicates", s->duplicates},
        {"rejected", s->rejected}, {"drawn", s->drawn},           {"batches", s->batches},
        {"repeats", s->repeats},   {"population", s->population}, {"unseen", s->unseen},
        {"bytes", s->bytes},       {"memory_bytes", s->memory_bytes}, {"finalized", s->finalized},
        {"skipped", s->skipped},
    };
    /* clang-format on */
    json_t *status = json_pack("{s:i, s:I, s:i, s:i, s:f, s:s}", "version", 1, "generation",
                               (json_int_t)r->config->generation, "restart", r->config->restart, "rank",
                               r->config->rank, "time", (double)time_now_ms() / 1000, "state", states[s->state]);
    int rc = 0;

    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        rc |= json_object_set_new(status, counters[i].name, json_integer((json_int_t)counters[i].value));
    rc |= json_object_set_new(status, "starved", json_boolean(s->doing & STRETTO_TRAIN_STARVED));
    rc |= json_object_set_new(status, "saving", json_boolean(s->doing & STRETTO_TRAIN_SAVING));
    if (r->early)
        rc |= json_object_set_new(status, "early", json_true());
    rc |= json_object_set_new(status, "capacity", json_integer((json_int_t)r->config->buffer.capacity));
    rc |= json_object_set_new(status, "samples_per_second", json_real(s->samples_per_second));
    rc |= json_object_set_new(status, "room_wait_seconds", json_real(s->room_wait_seconds));
    rc |= json_object_set_new(status, "sample_wait_seconds", json_real(s->sample_wait_seconds));
    rc |= json_object_set_new(status, "draws", draws_json(s));
    rc |= json_object_set_new(status, "rejected_by", faults_json(s));
    if (rc == 0)
        return status;
    json_decref(status);
    return NULL;
}

static void measure_sample_rate(struct report *r, struct stretto_train_stats *s, int64_t now)
{
    uint64_t samples = s->drawn + s->repeats - r->last.drawn - r->last.repeats;

    if (r->last_ms == 0 || now - r->last_ms < RATE_MS) {
        s->samples_per_second = r->last.samples_per_second;
        return;
    }
    s->samples_per_second = (double)samples * 1000 / (double)(now - r->last_ms);
    pthread_mutex_lock(&r->lock);
    r->rate = s->samples_per_second;
    pthread_mutex_unlock(&r->lock);
}

static int write_status_file(struct report *r, const char *kind, const struct stretto_train_stats *s, struct error *err)
{
    char *path = alloc_printf("%s/%s-rank%d.json", r->config->dir, kind, r->config->rank);
    json_t *value = status_json(r, s);
    int rc;

    if (path != NULL && value != NULL)
        rc = file_write_json(path, value, 0600, err);
    else
        rc = error_set(err, "train_memory", "no memory for the rank's status");
    json_decref(value);
    free(path);
    return rc;
}

/* Adds a line to the queue; called with the lock held. */
static int enqueue_metric_line(struct report *r, const char *line, size_t size)
{
    if (r->queued + size > r->room) {
        size_t room = 2 * (r->queued + size);
        char *larger = realloc(r->queue, room);

        if (larger == NULL)
            return -1;
        r->queue = larger;
        r->room = room;
    }
    memcpy(r->queue + r->queued, line, size);
    r->queued += size;
    return 0;
}

/* Makes lines of what was reported of members; called with the lock held. */
static void enqueue_tallies(struct report *r)
{
    double now = (double)time_now_ms() / 1000;

    for (size_t i = 0; i < r->tallies.n; i++) {
        const struct tally *t = &r->tallies.list[i];
        double mean = t->sum / (double)t->count;
        char line[160], value[TEXT_REAL];
        const char *quote = isinf(mean) ? "\"" : "";

        snprintf(line, sizeof line, "{\"member\":%lld,\"time\":%.3f,\"value\":%s%s%s}\n", (long long)t->member, now,
                 quote, isnan(mean) ? "null" : text_real(value, mean), quote);
        if (enqueue_metric_line(r, line, strlen(line)) < 0) {
            log_error("there is no memory for what was reported of %zu members, which is lost", r->tallies.n - i);
            break;
        }
    }
    tallies_fini(&r->tallies);
}

/* Appends the queue's lines to the file. Lines that cannot be written are lost, and the log says so. */
static void write_metrics(struct report *r)
{
    char *lines;
    size_t size;
    int fd;

    pthread_mutex_lock(&r->lock);
    enqueue_tallies(r);
    lines = r->queue;
    size = r->queued;
    r->queue = NULL;
    r->queued = r->room = 0;
    pthread_mutex_unlock(&r->lock);
    if (size == 0)
        return;
    fd = open(r->metrics, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (size_t at = 0; at < size;) {
        ssize_t n = fd < 0 ? -1 : write(fd, lines + at, size - at);

        if (n < 0 && errno == EINTR && fd >= 0)
            continue;
        if (n < 0) {
            log_error("cannot write %s: %s", r->metrics, strerror(errno));
            break;
        }
        at += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    free(lines);
    report_nudge(r, CONTROL_METRICS);
}

static bool same_status(const struct stretto_train_stats *a, const struct stretto_train_stats *b)
{
    return a->state == b->state && a->received == b->received && a->duplicates == b->duplicates &&
           a->rejected == b->rejected && a->batches == b->batches && a->finalized == b->finalized &&
           a->unseen == b->unseen && a->doing == b->doing && a->samples_per_second == b->samples_per_second;
}

static void write_status(struct report *r)
{
    int64_t now = time_monotonic_ms();
    struct stretto_train_stats s;
    struct error err;

    r->stats(r->arg, &s);
    measure_sample_rate(r, &s, now);
    if (r->last_ms != 0 && same_status(&s, &r->last) && now - r->last_ms < IDLE_SECONDS * 1000)
        return;
    r->last = s;
    r->last_ms = now;
    if (write_status_file(r, "status", &s, &err) < 0)
        log_error("%s", err.text);
    report_nudge(r, CONTROL_STATUS);
}

static void *report_run(void *arg)
{
    struct report *r = arg;
    bool stopping = false;

    while (!stopping) {
        struct timespec until;

        pthread_mutex_lock(&r->writing);
        write_metrics(r);
        if (!r->done)
            write_status(r);
        pthread_mutex_unlock(&r->writing);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        pthread_mutex_lock(&r->lock);
        while (!r->stopping && pthread_cond_timedwait(&r->wake, &r->lock, &until) == 0)
            ;
        stopping = r->stopping;
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

/* Removes what a former process of this rank has left: its report that it is done, and a line in the file of metrics
 * that it had only begun when it was killed. */
static void clear_former_report(struct report *r)
{
    char *done = alloc_printf("%s/done-rank%d.json", r->config->dir, r->config->rank), last;
    int fd = open(r->metrics, O_RDWR | O_APPEND | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;

    if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n' && write(fd, "\n", 1) != 1)
        log_warn("%s: %s", r->metrics, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (done != NULL)
        unlink(done);
    free(done);
}

struct report *report_start(const struct train_config *config,
                            void (*stats)(void *arg, struct stretto_train_stats *stats), void *arg, struct error *err)
{
    struct report *r = calloc(1, sizeof *r);

    if (r != NULL)
        r->metrics = alloc_printf("%s/metrics-rank%d.jsonl", config->dir, config->rank);
    if (r == NULL || r->metrics == NULL) {
        free(r);
        error_set(err, "train_memory", "no memory for the reports to the daemon");
        return NULL;
    }
    r->config = config;
    r->stats = stats;
    r->arg = arg;
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->writing, NULL);
    thread_cond_init(&r->wake);
    if (config->restart > 0)
        clear_former_report(r);
    report_nudge(r, CONTROL_ENDPOINT);
    if (thread_start(&r->thread, report_run, r) == 0)
        return r;
    error_set(err, "train_thread", "cannot start the report thread");
    free(r->metrics);
    free(r);
    return NULL;
}

void report_stop(struct report *r)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    write_metrics(r);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    pthread_mutex_destroy(&r->writing);
    tallies_fini(&r->tallies);
    free(r->queue);
    free(r->metrics);
    free(r);
}

int report_metric(struct report *r, const char *name, int64_t step, double value)
{
    json_t *line = json_pack("{s:s, s:I, s:f, s:o}", "name", name, "step", (json_int_t)step, "time",
                             (double)time_now_ms() / 1000, "value", text_metric_json(value));
    char *text = jsonx_dump(line, "\n");
    int rc = -1;

    if (text != NULL) {
        pthread_mutex_lock(&r->lock);
        rc = enqueue_metric_line(r, text, strlen(text));
        pthread_mutex_unlock(&r->lock);
    }
    free(text);
    json_decref(line);
    return rc;
}

int report_members(struct report *r, int count, const int64_t *member, const double *value)
{
    int rc = 0;

    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < count && rc == 0; i++)
        rc = tallies_add(&r->tallies, member[i], value[i]);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

void report_flush(struct report *r)
{
    pthread_mutex_lock(&r->writing);
    write_metrics(r);
    pthread_mutex_unlock(&r->writing);
}

double report_rate(struct report *r)
{
    double rate;

    pthread_mutex_lock(&r->lock);
    rate = r->rate;
    pthread_mutex_unlock(&r->lock);
    return rate;
}

int report_done(struct report *r, enum stretto_train_state state, bool early, struct error *err)
{
    struct stretto_train_stats s;
    int rc;

    pthread_mutex_lock(&r->writing);
    write_metrics(r);
    r->stats(r->arg, &s);
    measure_sample_rate(r, &s, time_monotonic_ms());
    s.state = (int32_t)state;
    r->early = early;
    rc = write_status_file(r, "status", &s, err);
    if (rc == 0)
        rc = write_status_file(r, "done", &s, err);
    r->done = rc == 0;
    report_nudge(r, CONTROL_DONE);
    pthread_mutex_unlock(&r->writing);
    return rc;
}
