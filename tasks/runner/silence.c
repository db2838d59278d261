#include "tasks/runner/silence.h"

#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "tasks/runner/done.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 60000
#define PART 4    /* looks in the time after which a task is hung */
#define SHARE 100 /* 1/SHARE of a processor's time is a sign of life */

void silence_note(struct silence *s, const struct sight *sight, int64_t passed_ms, int64_t pause_ms)
{
    int64_t ms = passed_ms < 2 * pause_ms ? passed_ms : pause_ms;
    long per_second = sysconf(_SC_CLK_TCK);
    unsigned long long used = sight->ticks - s->last.ticks;
    bool alive = !s->seen || sight->excused || sight->processes != s->last.processes || sight->files != s->last.files ||
                 sight->ticks < s->last.ticks ||
                 (used > 0 && used * SHARE * 1000 >= (unsigned long long)ms * (unsigned long long)per_second);

    s->quiet_ms = alive ? 0 : s->quiet_ms + ms;
    s->stopped_ms = !s->seen || !s->last.stopped || !sight->stopped || sight->excused ? 0 : s->stopped_ms + ms;
    s->last = *sight;
    s->seen = true;
}

void silences_init(struct silences *s, const struct job *job, int64_t now)
{
    int64_t stopped = silence_stopped_ms(job->desc), silence = job->desc->silence_ms;
    int64_t pause = (stopped < silence ? stopped : silence) / PART;

    *s = (struct silences){.limit_ms = silence, .stopped_ms = stopped, .looked = now};
    s->pause_ms = pause < PAUSE_MIN_MS ? PAUSE_MIN_MS : pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause;
    s->due = s->limit_ms > 0 ? now + s->pause_ms : INT64_MAX;
    if (s->limit_ms > 0)
        s->items = xcalloc(job->desc->ntasks, sizeof *s->items);
}

void silences_fini(struct silences *s)
{
    free(s->items);
}

static uint64_t digest_mix(uint64_t digest, uint64_t value)
{
    return (digest ^ value) * UINT64_C(0x100000001b3);
}

static uint64_t mix_file(uint64_t digest, const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    struct stat st;

    if (stat(path, &st) == 0) {
        digest = digest_mix(digest, (uint64_t)st.st_size);
        digest = digest_mix(digest, (uint64_t)st.st_mtim.tv_sec);
        digest = digest_mix(digest, (uint64_t)st.st_mtim.tv_nsec);
    }
    free(path);
    return digest;
}

static uint64_t look_at_files(const struct task *t)
{
    static const char *const names[] = {".", "stdout", "stderr", TASK_ALIVE};
    uint64_t digest = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        digest = mix_file(digest, t->desc->dir, names[i]);
    return t->checkpoints.dir != NULL ? mix_file(digest, t->checkpoints.dir, ".") : digest;
}

/* Returns whether this is a rank that learns from batches. */
static bool is_learning(const struct task *t)
{
    char *path = xasprintf("%s/" TASK_ALIVE, t->desc->dir);
    struct stat st;
    bool has_byte = stat(path, &st) == 0 && st.st_size > 0;

    free(path);
    return has_byte && t->job->desc->kind == JOBDESC_TRAINING;
}

/* Returns whether this is the launcher itself, whose processes may be on other nodes. */
static bool is_launcher(const struct task *t, const struct tree_process *p)
{
    const char *launcher =
        t->desc->launch != NULL ? json_string_value(json_array_get(t->desc->launch, 0)) : t->desc->launcher;
    const char *slash = launcher != NULL ? strrchr(launcher, '/') : NULL;

    return launcher != NULL && strncmp(p->name, slash != NULL ? slash + 1 : launcher, sizeof p->name - 1) == 0;
}

static struct sight task_look_at(const struct task *t, size_t number, const struct tree *tree)
{
    struct sight sight = {.files = look_at_files(t), .learns = is_learning(t), .stopped = true, .excused = true};
    bool busy = t->job->launch != NULL && t->desc->launcher != NULL; /* its processes are on other nodes */

    for (size_t i = 0; i < tree->n; i++) {
        const struct tree_process *p = &tree->items[i];

        if (p->task != number || (t->job->desc->kind == JOBDESC_PILOT && p->pid != t->pid))
            continue; /* a pilot watches its jobs itself */
        sight.ticks += p->ticks;
        sight.processes += digest_mix(digest_mix(0, (uint64_t)p->pid), p->start);
        sight.stopped = sight.stopped && p->state == 'T';
        sight.excused = sight.excused && is_launcher(t, p);
        busy = busy || p->state == 'D' || p->state == 't';
    }
    sight.excused = sight.excused || busy;
    return sight;
}

/* Returns whether the running ranks have been quiet for some time, and have said that they are done. */
static bool all_are_done(const struct silences *s, const struct leftovers *l)
{
    size_t running = 0;

    for (size_t i = 0; i < l->ntasks; i++) {
        if (l->tasks[i].pid <= 0)
            continue;
        if (s->items[i].quiet_ms < s->stopped_ms || !task_is_done(&l->tasks[i]))
            return false;
        running++;
    }
    return running > 0;
}

/* Returns how long the tasks of a job may be quiet. */
static int64_t limit_of(const struct silences *s, const struct leftovers *l)
{
    if (l->tasks[0].job->desc->kind != JOBDESC_TRAINING)
        return s->limit_ms;
    if (all_are_done(s, l)) /* nothing is left to do but to end */
        return s->stopped_ms;
    if (l->ntasks == 1)
        return s->limit_ms;
    for (size_t i = 0; i < l->ntasks; i++)
        if (l->tasks[i].pid > 0 && (!s->items[i].last.learns || s->items[i].last.stopped)) /* it alone will be blamed */
            return s->limit_ms;
    return s->stopped_ms;
}

/* Counts running tasks that are not quiet; the quiet ones may be waiting for them. */
static size_t silences_lively(const struct silences *s, const struct leftovers *l, int64_t limit)
{
    size_t n = 0;

    for (size_t i = 0; i < l->ntasks; i++)
        n += l->tasks[i].pid > 0 && s->items[i].quiet_ms < limit;
    return n;
}

size_t silences_judge(const struct silences *s, const struct leftovers *l)
{
    const struct job *job = l->tasks[0].job;
    int64_t limit = limit_of(s, l);
    bool by_itself = job->desc->kind == JOBDESC_MEMBERS ||
                     (job->desc->kind == JOBDESC_TRAINING && !job->shared && silences_lively(s, l, limit) == 0);
    size_t n = 0;

    for (size_t i = 0; i < l->ntasks; i++) {
        struct task *t = &l->tasks[i];
        bool stopped = s->items[i].stopped_ms >= s->stopped_ms;
        bool blocked = by_itself && s->items[i].quiet_ms >= limit;

        if (t->pid <= 0 || task_is_silent(t) || (!stopped && !blocked))
            continue;
        t->told = stopped ? TOLD_STOPPED : TOLD_BLOCKED;
        t->silent_ms = stopped ? s->stopped_ms : limit;
        n++;
    }
    return n;
}

size_t silences_look(struct silences *s, struct leftovers *l, int64_t now)
{
    int64_t passed = now - s->looked;
    struct tree tree;

    if (now < s->due)
        return 0;
    stretto_assert(passed >= 0);
    s->looked = now;
    s->due = now + s->pause_ms;
    leftovers_look(l, &tree);
    for (size_t i = 0; i < l->ntasks; i++) {
        struct sight sight;

        if (l->tasks[i].pid <= 0)
            continue;
        sight = task_look_at(&l->tasks[i], i, &tree);
        silence_note(&s->items[i], &sight, passed, s->pause_ms);
    }
    tree_free(&tree);
    return silences_judge(s, l);
}

int64_t silences_due(const struct silences *s)
{
    return s->due;
}
