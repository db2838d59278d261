/* The jobs of a pilot: taken from the inbox, started if there is room, waited for. Each has a runner of its own,
 * which does for it the same as for any job: the claim, the walltime, the exit records. */
#include "tasks/runner/pilot.h"

#include "common/jobfd.h"
#include "common/log.h"
#include "common/process.h"
#include "common/stretto_assert.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/claim.h"
#include "tasks/runner/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#define PAUSE_MS 1000 /* after the node could not create a process or directory */
#define KILL_AFTER_GRACE_MS 5000
#define STOPPED_LOOKS 6
#define SWEEPS_MAX 100
#define SWEEP_PAUSE_MS 20

static void pilot_job_free(struct node_pilot *p, struct pilot_job *job)
{
    HASH_DEL(p->jobs.all, job);
    if (job->jobfd >= 0)
        close(job->jobfd);
    free(job->name);
    free(job->dir);
    free(job->descriptor);
    free(job);
}

void pilot_forget(struct node_pilot *p)
{
    struct pilot_job *job, *next;

    HASH_ITER (hh, p->jobs.all, job, next)
        pilot_job_free(p, job);
    p->jobs.queue = p->jobs.running = NULL;
}

/* Returns a job to the daemon. Its name stays known: the daemon relies on it that the job is not started later, even if
 * it is handed over again. */
static void pilot_job_return(struct node_pilot *p, struct pilot_job *job, const char *why)
{
    DL_DELETE(p->jobs.queue, job);
    job->returned = true;
    free(job->descriptor);
    free(job->dir);
    job->descriptor = job->dir = NULL;
    pilot_say_return(p, job->name, why);
}

static void pilot_return_queued(struct node_pilot *p, const char *why)
{
    while (p->jobs.queue != NULL)
        pilot_job_return(p, p->jobs.queue, why);
}

static void tell_to_end(const struct node_pilot *p, struct pilot_job *job)
{
    if (job->kill_at != INT64_MAX)
        return;
    p->machine->kill(job->pid, SIGTERM);
    job->kill_at = p->machine->monotonic_ms() + job->grace_ms + KILL_AFTER_GRACE_MS;
}

static void pilot_job_cancel(struct node_pilot *p, const char *name)
{
    struct pilot_job *job;

    HASH_FIND_STR(p->jobs.all, name, job);
    if (job == NULL || job->returned)
        return;
    if (job->pid > 0)
        tell_to_end(p, job);
    else
        pilot_job_return(p, job, "cancelled");
}

static int64_t order_number(const json_t *order, const char *key)
{
    return (int64_t)json_number_value(json_object_get(order, key));
}

static void pilot_job_enqueue(struct node_pilot *p, const char *name, const json_t *order)
{
    const char *dir = json_string_value(json_object_get(order, "dir"));
    json_t *descriptor = json_object_get(order, "descriptor");
    struct pilot_job *job;

    HASH_FIND_STR(p->jobs.all, name, job);
    if (job != NULL) { /* handed over again, by a daemon that did not know that the pilot has it */
        if (job->returned)
            pilot_say_return(p, name, "handed over again");
        return;
    }
    job = xcalloc(1, sizeof *job);
    job->name = xstrdup(name);
    job->jobfd = -1;
    job->kill_at = INT64_MAX;
    HASH_ADD_KEYPTR(hh, p->jobs.all, job->name, strlen(job->name), job);
    DL_APPEND(p->jobs.queue, job);
    if (dir == NULL || dir[0] != '/' || !json_is_object(descriptor)) {
        pilot_job_return(p, job, "its order is damaged");
        return;
    }
    job->dir = xstrdup(dir);
    job->descriptor = json_dumps(descriptor, JSON_COMPACT);
    job->cpus = order_number(order, "cpus");
    job->gpus = order_number(order, "gpus");
    job->memory = order_number(order, "memory");
    job->least_ms = time_ms_of(json_number_value(json_object_get(order, "least")));
    job->grace_ms = time_ms_of(json_number_value(json_object_get(order, "grace")));
}

void pilot_take(struct node_pilot *p, const char *line)
{
    json_error_t wrong;
    json_t *order = json_loads(line, JSON_REJECT_DUPLICATES, &wrong);
    const char *name = json_string_value(json_object_get(order, "job"));
    const char *cancelled = json_string_value(json_object_get(order, "cancel"));

    if (name != NULL)
        pilot_job_enqueue(p, name, order);
    else if (cancelled != NULL)
        pilot_job_cancel(p, cancelled);
    else
        log_warn("an order that is none: %.100s", line);
    json_decref(order);
}

static int64_t free_gpus(const struct node_pilot *p)
{
    int64_t n = 0;

    for (int64_t i = 0; i < p->room.n_gpus; i++)
        n += p->room.gpus[i].job == NULL;
    return n;
}

/* Gives the job its GPUs, and returns their ids separated by commas. */
static char *take_gpus(struct node_pilot *p, const struct pilot_job *job)
{
    struct text list = {0};
    int64_t left = job->gpus;

    stretto_assert(job->gpus <= free_gpus(p));
    text_put(&list, "", 0);
    for (int64_t i = 0; i < p->room.n_gpus && left > 0; i++) {
        if (p->room.gpus[i].job != NULL)
            continue;
        p->room.gpus[i].job = job;
        text_add(&list, "%s%s", left < job->gpus ? "," : "", p->room.gpus[i].id);
        left--;
    }
    return list.data;
}

static bool take_cpus(struct node_pilot *p, const struct pilot_job *job, cpu_set_t *set)
{
    int64_t left = job->cpus;

    CPU_ZERO(set);
    for (int64_t i = 0; p->room.own != NULL && i < p->room.cpus && left > 0; i++) {
        if (p->room.own[i].job != NULL)
            continue;
        p->room.own[i].job = job;
        CPU_SET(p->room.own[i].id, set);
        left--;
    }
    return CPU_COUNT(set) > 0;
}

static void give_room(struct node_pilot *p, struct pilot_job *job)
{
    for (int64_t i = 0; i < p->room.n_gpus; i++)
        if (p->room.gpus[i].job == job)
            p->room.gpus[i].job = NULL;
    for (int64_t i = 0; p->room.own != NULL && i < p->room.cpus; i++)
        if (p->room.own[i].job == job)
            p->room.own[i].job = NULL;
    p->room.used_cpus -= job->cpus;
    p->room.used_memory -= job->memory;
    stretto_assert(p->jobs.n_running > 0);
    p->jobs.n_running--;
    stretto_assert(p->room.used_cpus >= 0 && p->room.used_memory >= 0);
    DL_DELETE(p->jobs.running, job);
    close(job->jobfd);
    job->jobfd = -1;
    job->pid = 0;
}

static void close_all_but(struct node_pilot *p, int jobfd)
{
    struct pilot_job *job;

    DL_FOREACH (p->jobs.running, job)
        if (job->jobfd >= 0 && job->jobfd != jobfd)
            close(job->jobfd);
    close(p->journal.fd);
    if (p->inbox.notify >= 0)
        close(p->inbox.notify);
    close(p->signal_fd);
}

/* Becomes the runner of a job, in a copy of this process. To start the program again would cost more than a runner does
 * for a short job. */
static void pilot_job_become_runner(struct node_pilot *p, const struct pilot_job *job, const char *gpus, pid_t pilot)
{
    int64_t now = p->machine->monotonic_ms();
    int null;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a killed pilot takes its jobs along */
    if (getppid() != pilot)
        _exit(EX_OSERR);
    close_all_but(p, job->jobfd);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        _exit(EX_OSERR);
    close(null);
    setenv("STRETTO_PILOT", p->config.name, 1); /* in the environment of all processes that it starts */
    _exit(run_job_in_copy(job->dir, job->jobfd, gpus, pilot, now,
                          p->deadline_ms == INT64_MAX ? INT64_MAX : now + p->deadline_ms - p->machine->unix_ms()));
}

/* -1 with errno if the job cannot be started now. */
static int pilot_job_start(struct node_pilot *p, struct pilot_job *job)
{
    char *gpus = p->room.knows_gpus ? take_gpus(p, job) : NULL;
    pid_t self = getpid();
    struct error err;
    cpu_set_t cpus;
    bool bound;
    int saved;

    DL_DELETE(p->jobs.queue, job);
    DL_APPEND(p->jobs.running, job);
    p->room.used_cpus += job->cpus;
    p->room.used_memory += job->memory;
    p->jobs.n_running++;
    stretto_assert(p->room.used_cpus <= p->room.cpus && p->room.used_memory <= p->room.memory);
    bound = take_cpus(p, job, &cpus);
    job->jobfd = jobfd_write(job->descriptor, strlen(job->descriptor), &err);
    job->pid = job->jobfd >= 0 ? fork() : -1;
    if (job->pid == 0 && bound)
        sched_setaffinity(0, sizeof cpus, &cpus); /* if this is refused, the job runs on any CPU */
    if (job->pid == 0)
        pilot_job_become_runner(p, job, gpus, self);
    saved = errno;
    free(gpus);
    errno = saved;
    return job->pid > 0 ? 0 : -1;
}

static void wait_for_room(struct node_pilot *p, struct pilot_job *job, const char *why)
{
    log_warn("job %s: cannot start its runner: %s; trying again", job->name, why);
    give_room(p, job);
    DL_PREPEND(p->jobs.queue, job);
    p->jobs.paused_until = p->machine->monotonic_ms() + PAUSE_MS;
}

static bool has_room(const struct node_pilot *p, const struct pilot_job *job)
{
    return p->room.used_cpus + job->cpus <= p->room.cpus && p->room.used_memory + job->memory <= p->room.memory &&
           job->gpus <= free_gpus(p);
}

void pilot_start_what_fits(struct node_pilot *p)
{
    struct pilot_job *job;

    while ((job = p->jobs.queue) != NULL && !p->stopping && p->machine->monotonic_ms() >= p->jobs.paused_until) {
        if (p->deadline_ms != INT64_MAX && p->machine->unix_ms() + job->least_ms > p->deadline_ms) {
            pilot_job_return(p, job, "what is left of the allocation's time is too little");
        } else if (job->cpus > p->room.cpus || job->memory > p->room.memory || job->gpus > p->room.n_gpus) {
            pilot_job_return(p, job, "it is more than the node has");
        } else if (!has_room(p, job)) {
            return; /* jobs start in their order, so that big ones do not starve */
        } else if (pilot_job_start(p, job) == 0) {
            pilot_say_start(p, job);
        } else {
            wait_for_room(p, job, strerror(errno));
        }
    }
}

/* Kills processes that the tasks of a killed runner left running. */
static void pilot_sweep_processes(const char *name)
{
    const struct timespec pause = {.tv_nsec = SWEEP_PAUSE_MS * 1000000L};
    int quiet = 0;

    for (int i = 0; i < SWEEPS_MAX && quiet < 2; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        quiet = process_signal_marked("STRETTO_JOB", name, SIGKILL) == 0 ? quiet + 1 : 0;
    }
    if (quiet < 2)
        log_warn("job %s: processes are left that do not die", name);
}

static void pilot_job_ended(struct node_pilot *p, struct pilot_job *job, int status)
{
    bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    struct error err;
    char *records;
    size_t size;

    if (WIFEXITED(status) && runner_waits_for(WEXITSTATUS(status)) != NULL && job->kill_at == INT64_MAX &&
        !p->stopping) {
        wait_for_room(p, job, runner_waits_for(WEXITSTATUS(status)));
        return;
    }
    if (!well) {
        log_warn("job %s: its runner ended with %s %d", job->name, WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        pilot_sweep_processes(job->name);
    }
    records = well ? jobfd_read(job->jobfd, &size, &err) : NULL;
    pilot_say_end(p, job, records != NULL && records[0] == '[' ? records : NULL,
                  WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    free(records);
    give_room(p, job);
    pilot_job_free(p, job);
}

void pilot_reap(struct node_pilot *p)
{
    struct pilot_job *job;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) { /* orphans of killed runners are among them */
        DL_FOREACH (p->jobs.running, job) {
            if (job->pid != pid)
                continue;
            pilot_job_ended(p, job, status);
            break;
        }
    }
}

void pilot_stop(struct node_pilot *p)
{
    struct pilot_job *job;

    p->stopping = true;
    pilot_return_queued(p, "its allocation was told to end");
    DL_FOREACH (p->jobs.running, job)
        tell_to_end(p, job);
}

void pilot_kill_overdue(struct node_pilot *p, int64_t now)
{
    struct pilot_job *job;

    DL_FOREACH (p->jobs.running, job) {
        if (now < job->kill_at)
            continue;
        log_warn("job %s: its runner did not end in time after it was told to: killing it", job->name);
        p->machine->kill(job->pid, SIGKILL);
        job->kill_at = INT64_MAX - 1;
    }
}

/* Kills runners that stay stopped. Checks are counted, not time: the pilot itself may have been suspended with its
 * job. */
void pilot_kill_stopped(struct node_pilot *p, int64_t now)
{
    struct pilot_job *job;

    if (now < p->jobs.look_at)
        return;
    p->jobs.look_at = now + p->config.stopped_ms / STOPPED_LOOKS;
    DL_FOREACH (p->jobs.running, job) {
        job->seen_stopped = process_is_stopped(job->pid) ? job->seen_stopped + 1 : 0;
        if (job->seen_stopped != STOPPED_LOOKS)
            continue;
        log_warn("job %s: its runner was stopped and did not go on: killing it", job->name);
        p->machine->kill(job->pid, SIGKILL);
    }
}
