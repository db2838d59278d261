#include "tasks/runner/looks.h"

#include "common/log.h"
#include "common/stretto_assert.h"

#define LINGER_MS 100

int looks_init(struct looks *looks, const struct job *job, struct task *tasks,
               void (*looked)(void *arg, struct task *t), void *arg, struct error *err)
{
    *looks =
        (struct looks){.tasks = tasks, .n = job->desc->ntasks, .linger_ms = INT64_MAX, .looked = looked, .arg = arg};
    if (!job->desc->checkpoint.any ||
        job->desc->kind != JOBDESC_MEMBERS) /* ranks record their checkpoints themselves */
        return 0;
    looks->looker = looker_create(err);
    if (looks->looker == NULL)
        return -1;
    looks->watch = watch_create();
    if (looks->watch == NULL)
        log_warn("checkpoints are looked for when tasks have ended only: the kernel tells nothing of their "
                 "directories");
    return 0;
}

void looks_fini(struct looks *looks)
{
    looker_destroy(looks->looker);
    watch_destroy(looks->watch);
}

void looks_stop(struct looks *looks)
{
    if (looks->looker != NULL)
        looker_stop(looks->looker);
}

static void looks_saw(void *arg, size_t whose, int what, const char *name, bool renamed)
{
    struct looks *looks = arg;
    struct task *t = &looks->tasks[whose];

    if (t->reading != READING_NOT)
        return;
    if (what == LOOKS_FILES)
        checkpoints_saw(&t->checkpoints, name, renamed, t->job->machine->monotonic_ms());
    else
        checkpoints_recorded(&t->checkpoints, t->job->machine->monotonic_ms());
}

static void look_last(struct looks *looks, struct task *t, bool clean)
{
    watch_read(looks->watch, looks_saw, looks); /* events from before its end */
    stretto_assert(t->reading == READING_NOT);
    t->reading = READING_CHECKPOINTS;
    t->linger_until = 0;
    looker_add(looks->looker,
               &look_create(&t->checkpoints, clean ? LOOK_CLEAN : LOOK_ENDED, t->job->machine->monotonic_ms())->errand);
}

void looks_end(struct looks *looks, struct task *t, int64_t now_ms, int64_t grace_ms)
{
    looks->ending++;
    if (task_is_gone(t)) {
        look_last(looks, t, t->rec.end.exit_code == 0);
        return;
    }
    t->linger_until = now_ms + grace_ms + LINGER_MS;
    looks->linger_ms = now_ms + LINGER_MS;
}

/* Handles tasks whose first process has ended while others have not. */
static void end_lingering(struct looks *looks, int64_t now_ms)
{
    bool any = false;

    if (looks->linger_ms == INT64_MAX)
        return;
    for (size_t i = 0; i < looks->n; i++) {
        struct task *t = &looks->tasks[i];

        if (t->linger_until == 0)
            continue;
        if (now_ms >= t->linger_until || task_is_gone(t))
            look_last(looks, t, false);
        else
            any = true;
    }
    looks->linger_ms = any ? now_ms + LINGER_MS : INT64_MAX;
}

static struct task *task_of(const struct looks *looks, const struct look *look)
{
    for (size_t i = 0; i < looks->n; i++)
        if (&looks->tasks[i].checkpoints == look->of)
            return &looks->tasks[i];
    return NULL;
}

void looks_work(struct looks *looks, int64_t now_ms)
{
    struct errand *errand;

    if (looks->looker == NULL)
        return;
    watch_read(looks->watch, looks_saw, looks);
    end_lingering(looks, now_ms);
    while ((errand = looker_next(looks->looker)) != NULL) {
        struct look *look = (struct look *)errand;
        struct task *t = task_of(looks, look);
        bool last = look->when != LOOK_RUNNING;

        look_taken(look);
        if (last) {
            stretto_assert(looks->ending > 0);
            looks->ending--;
            looks->looked(looks->arg, t);
        }
    }
    for (size_t i = 0; i < looks->n; i++) {
        struct task *t = &looks->tasks[i];

        if (t->pid > 0 && now_ms >= checkpoints_due(&t->checkpoints))
            looker_add(looks->looker, &look_create(&t->checkpoints, LOOK_RUNNING, now_ms)->errand);
    }
}

int64_t looks_due(const struct looks *looks)
{
    int64_t due = looks->linger_ms;

    for (size_t i = 0; looks->looker != NULL && i < looks->n; i++) {
        const struct task *t = &looks->tasks[i];
        int64_t its = t->pid > 0 ? checkpoints_due(&t->checkpoints) : INT64_MAX;

        due = its < due ? its : due;
    }
    return due;
}

int looks_watch_fd(const struct looks *looks)
{
    return looks->looker != NULL ? watch_fd(looks->watch) : -1;
}

int looks_done_fd(const struct looks *looks)
{
    return looks->looker != NULL ? looker_fd(looks->looker) : -1;
}
