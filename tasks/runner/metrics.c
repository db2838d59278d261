#include "tasks/runner/metrics.h"

#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "tasks/runner/event_files.h"
#include "tasks/runner/metric_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 8000              /* between two looks at files in which nothing is new */
#define PAUSE_WATCHED_MS 2000          /* the same if a member that diverges, or is beyond its rung, is to be ended */
#define LOOK_MAX ((int64_t)4 << 20)    /* bytes that one look reads */
#define ATTEMPT_MAX ((int64_t)4 << 30) /* bytes that are read of an attempt */
#define PENDING_MAX ((size_t)16 << 20) /* bytes of points that wait while they cannot be written */
#define LINES_MISSED 10                /* lines without a metric that is needed, after which that is told */
#define SILENCE_MS 600000              /* time without any line, after which that is told */
#define WHOLE 8192                     /* points of a series that are handed on one by one; then ever more are merged */
#define TIME_MAX_MS INT64_C(4102444800000) /* in the year 2100 */

struct series {
    char name[POINTS_NAME_MAX + 1];
    int64_t count, width;
    struct points_point open; /* being filled; its count is 0 if there is none */
    int64_t step, time_ms;    /* of the last point */
    double last, min, max;
    double finite; /* the last value that is finite, and its time; NaN: there was none */
    int64_t finite_ms;
    bool diverged; /* it has had a value that is not finite */
    bool is_rung;  /* this is the metric that shows whether the task has reached its rung */
};

struct metrics {
    const struct jobdesc_metrics *desc;
    int64_t until; /* of the task */
    bool at_rung;
    struct metrics_rung rung; /* valid with at_rung */
    struct metric_file files[2];
    size_t n_files;
    struct event_files *events; /* NULL if the task writes none */
    struct series *series;      /* room for POINTS_SERIES_MAX from the first one on; NULL before */
    size_t n, last;             /* last: the one that was found last */
    int64_t started_ms, unix_ms;
    int64_t lines;  /* of metrics */
    unsigned told;  /* what the daemon was told to be wrong: bits of enum trouble */
    int64_t silent; /* when it is told that there are no metrics, by the monotonic clock */
    int64_t due, pause_ms;
    int64_t read;   /* bytes */
    char *path;     /* of the points */
    int64_t handed; /* bytes of it */
    struct text pending;
    bool troubled;   /* the last write failed */
    bool cut;        /* the rest is not read */
    int64_t unnamed; /* values of series beyond the limit */
    int64_t lost;    /* lines of points that could not be written */
};

/* The kinds of mistakes in the metrics that a task reports. */
enum trouble {
    TROUBLE_LINES = 1,
    TROUBLE_ANEW = 2,
    TROUBLE_EVENTS = 4,
    TROUBLE_UNNAMED = 8,
    TROUBLE_SIZE = 16,
    TROUBLE_LOST = 32,
    TROUBLE_MISSED = 64, /* a metric that the spec needs */
};

struct metrics *metrics_create(const struct jobdesc *job, const struct jobdesc_task *task, int64_t unix_ms,
                               int64_t now_ms)
{
    const char *file = jobdesc_metrics_file(job, task);
    struct metrics *m = xcalloc(1, sizeof *m);

    m->desc = &job->metrics;
    m->until = task->until;
    m->started_ms = unix_ms;
    m->pause_ms = PAUSE_MIN_MS;
    m->due = now_ms + m->pause_ms;
    m->silent = now_ms + SILENCE_MS;
    m->path = xasprintf("%s/" POINTS_FILE, task->dir);
    metric_file_init(&m->files[m->n_files++], task->dir, METRICS_FILE, false);
    if (file != NULL && job->metrics.format == JOBDESC_TENSORBOARD)
        m->events = event_files_create(task->dir, file);
    else if (file != NULL)
        metric_file_init(&m->files[m->n_files++], task->dir, file, true);
    return m;
}

void metrics_destroy(struct metrics *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->n_files; i++)
        metric_file_fini(&m->files[i]);
    event_files_destroy(m->events);
    free(m->series);
    free(m->pending.data);
    free(m->path);
    free(m);
}

/* Both prefer a number to NaN. */
static double least_number(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

static double greatest_number(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static struct series *series_find(struct metrics *m, const char *name)
{
    struct series *s;

    if (m->last < m->n && strcmp(m->series[m->last].name, name) == 0)
        return &m->series[m->last];
    for (size_t i = 1; i <= m->n; i++) { /* lines mostly have the same names in the same order */
        size_t at = (m->last + i) % m->n;

        if (strcmp(m->series[at].name, name) == 0) {
            m->last = at;
            return &m->series[at];
        }
    }
    if (m->n == POINTS_SERIES_MAX)
        return NULL;
    if (m->series == NULL) /* most tasks report nothing */
        m->series = xcalloc(POINTS_SERIES_MAX, sizeof *m->series);
    m->last = m->n;
    s = &m->series[m->n++];
    *s = (struct series){.width = 1, .last = NAN, .min = NAN, .max = NAN, .finite = NAN};
    strcpy(s->name, name);
    s->is_rung = m->until > 0 && m->desc->rung != NULL && strcmp(name, m->desc->rung) == 0;
    return s;
}

static void series_hand_on(struct metrics *m, struct series *s)
{
    char line[POINTS_LINE_MAX];

    if (s->open.count == 0)
        return;
    if (m->pending.size > PENDING_MAX)
        m->lost++;
    else
        text_put(&m->pending, line, points_write(line, s->name, &s->open));
    s->open.count = 0;
}

/* Returns the area under the curve from the last finite value of the series to this one. */
static double area_to(const struct series *s, double value, int64_t time_ms)
{
    double area = (value + s->finite) / 2 * (double)(time_ms - s->finite_ms) / 1000;

    return time_ms > s->finite_ms && isfinite(area) ? area : 0;
}

static void point_merge(struct points_point *open, const struct points_point *p)
{
    open->last_step = p->step;
    open->last_time_ms = p->time_ms;
    open->count++;
    open->not_finite += p->not_finite;
    open->last = p->last;
    open->min = least_number(open->min, p->min);
    open->max = greatest_number(open->max, p->max);
    open->area = isfinite(open->area + p->area) ? open->area + p->area : open->area;
    open->within = isfinite(open->within + p->area) ? open->within + p->area : open->within;
}

static void note_rung(struct metrics *m, int64_t step, double value)
{
    if (!m->at_rung && step >= m->until) {
        m->at_rung = true;
        m->rung = (struct metrics_rung){.step = step, .value = value};
    }
    m->rung.beyond = m->rung.beyond || step > m->until;
}

static void series_add(struct metrics *m, struct series *s, int64_t step, int64_t time_ms, double value)
{
    double finite = isfinite(value) ? value : NAN;
    bool goes_on = s->count > 0 && step > s->step;
    struct points_point p = {step, step, time_ms, time_ms, 1, !isfinite(value), value, value, finite, finite, 0, 0};

    if (goes_on) {
        p.area = area_to(s, value, time_ms);
    } else {
        series_hand_on(m, s); /* the daemon drops what this point replaces */
        s->finite = NAN;
    }
    if (s->count >= WHOLE * s->width)
        s->width *= 2;
    if (s->open.count > 0)
        point_merge(&s->open, &p);
    else
        s->open = p;
    if (s->open.count >= s->width)
        series_hand_on(m, s);
    s->count++;
    s->step = step;
    s->time_ms = time_ms;
    s->last = value;
    s->min = least_number(s->min, value);
    s->max = greatest_number(s->max, value);
    s->diverged = s->diverged || !isfinite(value);
    if (isfinite(value)) {
        s->finite = value;
        s->finite_ms = time_ms;
    }
    if (s->is_rung)
        note_rung(m, step, value);
}

static int64_t time_of(const struct metrics *m, double time)
{
    double ms = time < METRIC_TIME_EPOCH ? (double)m->started_ms + time * 1000 : time * 1000;

    return ms >= 0 && ms <= (double)TIME_MAX_MS ? (int64_t)ms : m->unix_ms; /* also if it is NaN */
}

static void metrics_take_line(void *arg, const struct metric_line *line)
{
    struct metrics *m = arg;
    int64_t time_ms = time_of(m, line->time);

    m->lines += line->n > 0;
    for (size_t i = 0; i < line->n; i++) {
        struct series *s = series_find(m, line->values[i].name);
        double value = line->values[i].value;

        if (s == NULL) {
            m->unnamed++;
            continue;
        }
        if (strcmp(s->name, POINTS_PROGRESS) == 0 && !(value >= 0 && value <= 1))
            continue;
        series_add(m, s, line->has_step ? line->step : s->count, time_ms, value);
    }
}

/* Appends points that wait to the file of points. A point that was written in part is written again in its place. */
static void write_pending(struct metrics *m)
{
    ssize_t n = 0;
    size_t done;
    int fd;

    if (m->pending.size == 0)
        return;
    fd = open(m->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    for (done = 0; fd >= 0 && done < m->pending.size; done += (size_t)n) {
        n = pwrite(fd, m->pending.data + done, m->pending.size - done, m->handed + (int64_t)done);
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n < 0)
            break;
    }
    if (fd < 0 || done < m->pending.size) {
        if (!m->troubled)
            log_warn("%s: %s; metrics wait", m->path, strerror(errno));
        m->troubled = true;
    } else {
        m->troubled = false;
        m->handed += (int64_t)m->pending.size;
        m->pending.size = 0;
    }
    if (fd >= 0)
        close(fd);
}

/* Reads the new bytes of all files; returns whether there were any. */
static bool metrics_look_at_all(struct metrics *m, bool ended)
{
    bool any = false;

    for (size_t i = 0; i < m->n_files; i++) {
        int64_t n = m->read < ATTEMPT_MAX ? metric_file_read(&m->files[i], LOOK_MAX, ended, metrics_take_line, m) : 0;

        m->read += n;
        any = any || n > 0;
    }
    if (m->events != NULL && m->read < ATTEMPT_MAX) {
        int64_t n = event_files_read(m->events, LOOK_MAX, metrics_take_line, m);

        m->read += n;
        any = any || n > 0;
    }
    return any;
}

static const struct series *find_known(const struct metrics *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->series[i].name, name) == 0 && m->series[i].count > 0)
            return &m->series[i];
    return NULL;
}

/* Returns a metric by which the spec judges the task, or stops it early, and that it has not reported; NULL for none.
 * */
static const char *metrics_missed(const struct metrics *m)
{
    if (m->desc->name != NULL && find_known(m, m->desc->name) == NULL)
        return m->desc->name;
    return m->desc->rung != NULL && find_known(m, m->desc->rung) == NULL ? m->desc->rung : NULL;
}

/* Adds the names of some metrics that the task has reported. */
static void add_known(const struct metrics *m, struct text *out)
{
    for (size_t i = 0; i < m->n && i < 5; i++)
        text_add(out, "%s\"%.40s\"", i == 0 ? ", but " : ", ", m->series[i].name);
    if (m->n > 5)
        text_add(out, " and %zu more", m->n - 5);
}

static void add_separator(struct text *out)
{
    text_string(out, out->size > 0 ? "; " : "");
}

static unsigned metrics_add_files(const struct metrics *m, struct text *out)
{
    unsigned troubles = 0;
    const char *first;
    int64_t wrong;

    for (size_t i = 0; i < m->n_files; i++) {
        const struct metric_file *f = &m->files[i];

        if (f->wrong > 0) {
            add_separator(out);
            text_add(out, "%lld line%s of %.60s %s no metrics, the first at %s", (long long)f->wrong,
                     f->wrong == 1 ? "" : "s", f->name, f->wrong == 1 ? "is" : "are", f->first_wrong);
            troubles |= TROUBLE_LINES;
        }
        if (f->differs) {
            add_separator(out);
            text_add(out, "%.60s was written anew with other lines, and what was there just before may be lost",
                     f->name);
            troubles |= TROUBLE_ANEW;
        }
    }
    if (m->events != NULL && (wrong = event_files_wrong(m->events, &first)) > 0) {
        add_separator(out);
        text_add(out, "%lld record%s of event files cannot be read, the first at %s", (long long)wrong,
                 wrong == 1 ? "" : "s", first);
        troubles |= TROUBLE_EVENTS;
    }
    return troubles;
}

/* Writes the mistakes in the metrics so far; returns the text. */
static unsigned find_troubles(const struct metrics *m, struct text *out)
{
    unsigned troubles;

    text_string(out, "");
    troubles = metrics_add_files(m, out);
    if (m->unnamed > 0) {
        add_separator(out);
        text_add(out, "%lld values have names beyond the first %d", (long long)m->unnamed, POINTS_SERIES_MAX);
        troubles |= TROUBLE_UNNAMED;
    }
    if (m->read >= ATTEMPT_MAX) {
        add_separator(out);
        text_add(out, "only the first %lld GiB of metrics were read", (long long)(ATTEMPT_MAX >> 30));
        troubles |= TROUBLE_SIZE;
    }
    if (m->lost > 0) {
        add_separator(out);
        text_add(out, "points are lost, since %.100s could not be written", m->path);
        troubles |= TROUBLE_LOST;
    }
    return troubles;
}

/* Reports mistakes to the daemon while the task runs: once for each kind, and again once it has passed. */
static void tell_troubles(struct metrics *m, int64_t now_ms)
{
    char line[POINTS_LINE_MAX];
    const char *name = metrics_missed(m);
    struct text text = {0};
    unsigned troubles = find_troubles(m, &text);

    if (name != NULL && (m->lines >= LINES_MISSED || (m->lines == 0 && now_ms >= m->silent))) {
        add_separator(&text);
        text_add(&text, "it has not reported \"%s\" so far, by which it is judged", name);
        add_known(m, &text);
        troubles |= TROUBLE_MISSED;
    }
    if (troubles != m->told)
        text_put(&m->pending, line, points_write_notice(line, text.data));
    m->told = troubles;
    free(text.data);
}

void metrics_work(struct metrics *m, int64_t unix_ms, int64_t now_ms)
{
    int64_t longest = m->desc->diverged == JOBDESC_DIVERGED_END || m->until > 0 ? PAUSE_WATCHED_MS : PAUSE_MAX_MS;

    if (now_ms < m->due)
        return;
    m->unix_ms = unix_ms;
    if (metrics_look_at_all(m, false))
        m->pause_ms = PAUSE_MIN_MS;
    else
        m->pause_ms = m->pause_ms * 2 < longest ? m->pause_ms * 2 : longest;
    tell_troubles(m, now_ms);
    write_pending(m);
    m->due = now_ms + m->pause_ms;
}

int64_t metrics_due(const struct metrics *m)
{
    return m->due;
}

bool metrics_end(struct metrics *m, int64_t unix_ms)
{
    int64_t before = m->read;

    m->unix_ms = unix_ms;
    while (!m->cut && metrics_look_at_all(m, true))
        if (m->read - before >= LOOK_MAX) {
            write_pending(m);
            return false;
        }
    for (size_t i = 0; i < m->n; i++)
        series_hand_on(m, &m->series[i]);
    write_pending(m);
    return true;
}

void metrics_cut(struct metrics *m)
{
    m->cut = true;
}

static const char *word_for(double value)
{
    return isnan(value) ? "NaN" : value > 0 ? "infinite" : "minus infinite";
}

bool metrics_diverged(const struct metrics *m, bool ended, char *why, size_t size)
{
    if (m->desc->diverged == JOBDESC_DIVERGED_IGNORE)
        return false;
    for (size_t i = 0; i < m->n; i++) {
        const struct series *s = &m->series[i];
        bool at_last = ended && s->count > 0 && !isfinite(s->last);
        bool before = s->diverged && m->desc->diverged == JOBDESC_DIVERGED_END;

        if (!at_last && !before)
            continue;
        if (why != NULL && at_last)
            snprintf(why, size, "%s was %s at its last step, %lld", s->name, word_for(s->last), (long long)s->step);
        else if (why != NULL)
            snprintf(why, size, "%s was NaN or infinite", s->name);
        return true;
    }
    return false;
}

bool metrics_at_rung(const struct metrics *m, struct metrics_rung *rung)
{
    *rung = m->rung;
    return m->at_rung;
}

/* Returns the series of the metric by which members are stopped early; NULL if the task reported none. */
static const struct series *rung_series(const struct metrics *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->series[i].is_rung && m->series[i].count > 0)
            return &m->series[i];
    return NULL;
}

bool metrics_ended_at_rung(const struct metrics *m, struct metrics_rung *rung)
{
    const struct series *s = rung_series(m);

    if (metrics_at_rung(m, rung) || s == NULL || s->step != m->until - 1)
        return m->at_rung;
    *rung = (struct metrics_rung){.step = s->step, .value = s->last};
    return true;
}

int64_t metrics_rung_step(const struct metrics *m)
{
    const struct series *s = rung_series(m);

    return s != NULL ? s->step : -1;
}

enum metrics_verdict metrics_judge(const struct metrics *m, char *why, size_t size)
{
    const struct jobdesc_metrics *desc = m->desc;
    const struct series *s = desc->name != NULL ? find_known(m, desc->name) : NULL;
    struct text known = {0};
    double value;

    if (desc->name == NULL)
        return METRICS_REACHED;
    if (s == NULL) {
        text_string(&known, "");
        add_known(m, &known);
        snprintf(why, size, "it reported no metric \"%s\"%s", desc->name, known.data);
        free(known.data);
        return METRICS_ABSENT;
    }
    value = !desc->best ? s->last : desc->has_least ? s->max : s->min;
    if ((!desc->has_least || value >= desc->least) && (!desc->has_most || value <= desc->most)) {
        if (!isnan(value))
            return METRICS_REACHED;
    }
    snprintf(why, size, "%s was %.6g %s, %s %g", s->name, value, desc->best ? "at best" : "at last",
             desc->has_least && !(value >= desc->least) ? "below" : "above",
             desc->has_least && !(value >= desc->least) ? desc->least : desc->most);
    return METRICS_MISSED;
}

bool metrics_finished(const struct metrics *m)
{
    const struct series *s = find_known(m, POINTS_PROGRESS);

    return s != NULL && s->last >= 1;
}

int64_t metrics_size(const struct metrics *m)
{
    return m->handed;
}

void metrics_notice(const struct metrics *m, char *out, size_t size)
{
    struct text text = {0};

    find_troubles(m, &text);
    if (m->pending.size > 0 && m->lost == 0) {
        add_separator(&text);
        text_add(&text, "points are lost, since %.100s could not be written", m->path);
    }
    snprintf(out, size, "%s", text.data);
    free(text.data);
}
