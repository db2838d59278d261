#include "tasks/runner/reading.h"

#include "common/lesser.h"

/* how long checkpoints are read after the grace of a job that is ended; less than EXITREC_TAKE_MS */
#define READ_AFTER_MS 4000

static void reading_taken(void *arg, struct task *t)
{
    struct reading *reading = arg;

    reading->over(reading->arg, t);
}

static void reading_looked(void *arg, struct task *t)
{
    struct reading *reading = arg;

    if (!task_read_metrics(t)) {
        t->reading = READING_METRICS;
        reading->metrics++;
        return;
    }
    t->reading = READING_REST;
    task_conclude(t);
    if (!artefacts_take(&reading->artefacts, t)) /* otherwise it is over when they are read */
        reading->over(reading->arg, t);
}

int reading_init(struct reading *reading, struct job *job, struct task *tasks, void (*over)(void *arg, struct task *t),
                 void *arg, struct error *err)
{
    *reading = (struct reading){
        .job = job, .tasks = tasks, .ntasks = job->desc->ntasks, .until = INT64_MAX, .over = over, .arg = arg};
    if (looks_init(&reading->looks, job, tasks, reading_looked, reading, err) < 0 ||
        artefacts_init(&reading->artefacts, job, reading_taken, reading, err) < 0) {
        looks_fini(&reading->looks);
        return -1;
    }
    job->watch = reading->looks.watch;
    return 0;
}

void reading_fini(struct reading *reading)
{
    looks_fini(&reading->looks);
    artefacts_fini(&reading->artefacts);
}

void reading_take(struct reading *reading, struct task *t)
{
    if (task_leaves_checkpoints(t))
        looks_end(&reading->looks, t, reading->job->machine->monotonic_ms(), reading->job->desc->grace_ms);
    else
        reading_looked(reading, t);
}

bool reading_is_busy(const struct reading *reading)
{
    return reading->looks.ending > 0 || reading->metrics > 0 || reading->artefacts.open > 0;
}

void reading_stop(struct reading *reading, enum stop why, int64_t now_ms)
{
    artefacts_stop(&reading->artefacts, why);
    reading->why = why;
    reading->until = now_ms + reading->job->desc->grace_ms + READ_AFTER_MS;
}

static void stop_if_due(struct reading *reading, int64_t now_ms)
{
    if (now_ms < reading->until)
        return;
    reading->until = INT64_MAX;
    reading->enough = true;
    looks_stop(&reading->looks);
}

/* Reads on in the metrics of tasks that have ended. */
static void read_metrics(struct reading *reading)
{
    for (size_t i = 0; reading->metrics > 0 && i < reading->ntasks; i++) {
        struct task *t = &reading->tasks[i];

        if (t->reading != READING_METRICS)
            continue;
        if (reading->enough)
            task_leave_metrics(t, reading->why);
        reading->metrics--;
        reading_looked(reading, t);
    }
}

void reading_work(struct reading *reading, int64_t now_ms)
{
    stop_if_due(reading, now_ms);
    read_metrics(reading);
    looks_work(&reading->looks, now_ms);
    artefacts_work(&reading->artefacts);
}

int64_t reading_due(const struct reading *reading)
{
    if (reading->metrics > 0)
        return 0; /* at once */
    return reading->looks.ending > 0 ? lesser(looks_due(&reading->looks), reading->until) : looks_due(&reading->looks);
}

void reading_poll(const struct reading *reading, struct pollfd fds[READING_FDS])
{
    fds[0] = (struct pollfd){.fd = looks_watch_fd(&reading->looks), .events = POLLIN};
    fds[1] = (struct pollfd){.fd = looks_done_fd(&reading->looks), .events = POLLIN};
    fds[2] = (struct pollfd){.fd = artefacts_fd(&reading->artefacts), .events = POLLIN};
}
