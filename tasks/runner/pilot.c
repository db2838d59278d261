#include "config.h"

#include "tasks/runner/pilot.h"

#include "common/files.h"
#include "common/lesser.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/runner/cpus.h"
#include "tasks/runner/tree.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>
#include <utlist.h>

#define NODES_MAX 100000
#define STOPPED_MS 300000
#define BATCH_MAX ((size_t)256 << 20)
#define SCAN_MIN_MS 50 /* between looks into the inbox if inotify does not work */
#define SCAN_MAX_MS 1000
#define SCAN_NOTIFIED_MS 5000 /* where it works */

static int read_config(struct node_pilot *p, struct error *err)
{
    char *path = xasprintf("%s/pilot.json", p->dir);

    p->config.json = file_read_json(path, err);
    free(path);
    if (p->config.json == NULL)
        return -1;
    p->config.name = json_string_value(json_object_get(p->config.json, "job"));
    p->config.control = json_string_value(json_object_get(p->config.json, "control"));
    p->config.nodes = json_integer_value(json_object_get(p->config.json, "nodes"));
    p->config.idle_ms = time_ms_of(json_number_value(json_object_get(p->config.json, "idle")));
    p->config.least_ms = time_ms_of(json_number_value(json_object_get(p->config.json, "least")));
    p->config.stopped_ms = time_ms_of(json_number_value(json_object_get(p->config.json, "stopped")));
    if (p->config.stopped_ms <= 0)
        p->config.stopped_ms = STOPPED_MS;
    p->config.flush = json_is_true(json_object_get(p->config.json, "flush"));
    p->config.launcher = json_object_get(p->config.json, "launcher");
    if (p->config.name == NULL || p->config.nodes < 1 || p->config.nodes > NODES_MAX)
        return error_set(err, "pilot", "%s/pilot.json is damaged", p->dir);
    return 0;
}

/* Takes a node's directory: nodes are numbered in the order of their arrival, or by ALPS. */
static int take_number(struct node_pilot *p, struct error *err)
{
    bool numbered = p->rank.application[0] != '\0';
    int64_t first = numbered ? p->rank.number : 0, end = numbered ? first + 1 : p->config.nodes;

    for (int64_t i = first; i < end && i < p->config.nodes; i++) {
        free(p->node_dir);
        p->node_dir = xasprintf("%s/node%lld", p->dir, (long long)i);
        if (mkdir(p->node_dir, 0700) == 0) {
            file_flush_name(p->node_dir);
            p->inbox.dir = xasprintf("%s/inbox", p->node_dir);
            return dir_make(p->inbox.dir, err);
        }
        if (errno != EEXIST)
            return error_errno(err, "pilot", "%s", p->node_dir);
    }
    if (numbered && first < p->config.nodes)
        return error_set(err, "pilot", "there is a pilot on node %lld already", (long long)first);
    return error_set(err, "pilot", "there are pilots on all %lld nodes already", (long long)p->config.nodes);
}

static int64_t from_environment(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? strtoll(value, NULL, 10) : 0;
}

static int64_t usable_cpus(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    return sysconf(_SC_NPROCESSORS_ONLN);
}

static void find_gpus(struct node_pilot *p)
{
    const char *list = getenv("STRETTO_GPUS");

    if (list == NULL)
        list = getenv("CUDA_VISIBLE_DEVICES");
    p->room.knows_gpus = list != NULL;
    while (list != NULL && *list != '\0') {
        size_t n = strcspn(list, ",");

        p->room.gpus = xrealloc(p->room.gpus, (size_t)p->room.n_gpus + 1, sizeof *p->room.gpus);
        p->room.gpus[p->room.n_gpus++] = (struct pilot_gpu){.id = xasprintf("%.*s", (int)n, list)};
        list += n + (list[n] == ',');
    }
}

static void find_own_cpus(struct node_pilot *p)
{
    struct cpus cpus;

    if (cpus_own(&cpus) && (int64_t)cpus.n >= p->room.cpus) {
        p->room.own = xcalloc((size_t)p->room.cpus, sizeof *p->room.own);
        for (int64_t i = 0; i < p->room.cpus; i++)
            p->room.own[i].id = cpus.list[i].id;
    }
    cpus_fini(&cpus);
}

/* Finds the resources of the node: as configured, or as the batch system reports, or those of the machine. */
static void find_resources(struct node_pilot *p)
{
    int64_t deadline = from_environment("STRETTO_DEADLINE");

    p->room.cpus = json_integer_value(json_object_get(p->config.json, "cpus"));
    if (p->room.cpus <= 0)
        p->room.cpus = from_environment("SLURM_CPUS_ON_NODE");
    /* the first is PBS Pro's, the second Torque's; of the first node, but all are alike */
    if (p->room.cpus <= 0 && getenv("PBS_JOBID") != NULL)
        p->room.cpus = from_environment("NCPUS") > 0 ? from_environment("NCPUS") : from_environment("PBS_NUM_PPN");
    if (p->room.cpus <= 0)
        p->room.cpus = usable_cpus();
    find_own_cpus(p);
    p->room.memory = json_integer_value(json_object_get(p->config.json, "memory"));
    if (p->room.memory <= 0)
        p->room.memory = from_environment("SLURM_MEM_PER_NODE") << 20;
    if (p->room.memory <= 0)
        p->room.memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    find_gpus(p);
    p->deadline_ms = deadline > 0 ? 1000 * deadline : INT64_MAX;
}

static void take_batch(struct node_pilot *p, const char *name)
{
    char *path = xasprintf("%s/%s", p->inbox.dir, name), *text, *rest = NULL;
    struct error err;
    size_t size;

    if (file_read_own(path, BATCH_MAX, &text, &size, &err) < 0) {
        bool foreign = errno == EPERM || errno == ELOOP;

        log_error("%s%s", err.text, foreign ? ": it is removed, since its commands would run as this user" : "");
        if (foreign)
            unlink(path); /* any other file stays, and is tried again at the next look */
    } else {
        for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
            pilot_take(p, line);
        free(text);
        unlink(path);
    }
    free(path);
}

static int is_batch(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);

    return n > 6 && strcmp(entry->d_name + n - 6, ".jsonl") == 0;
}

/* Takes the batches in the order of their names, in which they were written. */
static void inbox_scan(struct node_pilot *p, int64_t now)
{
    struct dirent **list;
    int n = scandir(p->inbox.dir, &list, is_batch, alphasort);

    for (int i = 0; i < n; i++) {
        take_batch(p, list[i]->d_name);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    p->inbox.scan_ms = n > 0 ? SCAN_MIN_MS : p->inbox.scan_ms * 2 < SCAN_MAX_MS ? p->inbox.scan_ms * 2 : SCAN_MAX_MS;
    p->inbox.scan_at = now + (p->inbox.notified ? SCAN_NOTIFIED_MS : p->inbox.scan_ms);
}

static void watch_inbox(struct node_pilot *p)
{
    p->inbox.notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (p->inbox.notify >= 0 && inotify_add_watch(p->inbox.notify, p->inbox.dir, IN_MOVED_TO) < 0) {
        close(p->inbox.notify);
        p->inbox.notify = -1;
    }
}

static void take_notices(struct node_pilot *p)
{
    char buf[4096];

    while (p->inbox.notify >= 0 && read(p->inbox.notify, buf, sizeof buf) > 0) {
        p->inbox.notified = true;
        p->inbox.scan_at = 0;
    }
}

static void pilot_take_signals(struct node_pilot *p)
{
    struct signalfd_siginfo info;

    while (read(p->signal_fd, &info, sizeof info) == sizeof info)
        if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT || info.ssi_signo == SIGHUP)
            pilot_stop(p);
}

/* Returns the reason why the node is given back now; NULL if it is not. */
static const char *pilot_is_over(struct node_pilot *p, int64_t now)
{
    if (p->jobs.n_running > 0)
        return NULL;
    if (p->stopping)
        return "told to end";
    if (p->jobs.queue != NULL) {
        p->idle_since = now;
        return NULL;
    }
    if (p->deadline_ms != INT64_MAX && p->machine->unix_ms() + p->config.least_ms > p->deadline_ms)
        return "no member fits what is left of its time";
    return now - p->idle_since >= p->config.idle_ms ? "idle" : NULL;
}

/* `over`: the node is given back as soon as the journal says so; as one that is told to end, it takes no new jobs. */
static void pilot_wait_for_events(struct node_pilot *p, int64_t now, bool over)
{
    struct pollfd fds[] = {{.fd = p->signal_fd, .events = POLLIN}, {.fd = p->inbox.notify, .events = POLLIN}};
    int64_t until = over || p->stopping ? now + SCAN_MAX_MS : p->inbox.scan_at, ms;
    struct pilot_job *job;

    if (!over && p->jobs.n_running == 0 && p->jobs.queue == NULL)
        until = lesser(until, p->idle_since + p->config.idle_ms);
    if (p->jobs.queue != NULL && p->jobs.paused_until > now)
        until = lesser(until, p->jobs.paused_until);
    until = lesser(until, pilot_journal_due(p));
    if (p->jobs.n_running > 0)
        until = lesser(until, p->jobs.look_at);
    DL_FOREACH (p->jobs.running, job)
        until = lesser(until, job->kill_at);
    ms = until > now ? until - now : 0;
    p->machine->poll(fds, 2, ms > INT_MAX ? INT_MAX : (int)ms);
}

static void pilot_loop(struct node_pilot *p)
{
    const char *why = NULL;

    for (;;) {
        int64_t now = p->machine->monotonic_ms();

        pilot_take_signals(p);
        take_notices(p);
        if (p->jobs.n_running > 0) /* also if they are about to be waited for: it is idle from now on */
            p->idle_since = now;
        pilot_reap(p);
        if (why == NULL && !p->stopping && now >= p->inbox.scan_at)
            inbox_scan(p, now);
        pilot_start_what_fits(p);
        pilot_kill_overdue(p, now);
        pilot_kill_stopped(p, now);
        if (why == NULL && (why = pilot_is_over(p, now)) != NULL)
            pilot_say_over(p, why);
        pilot_journal_flush(p, now);
        if (why != NULL && !pilot_journal_pending(p)) {
            p->journal.sync_at = p->config.flush ? 0 : INT64_MAX;
            pilot_journal_flush(p, now);
            break;
        }
        pilot_wait_for_events(p, now, why != NULL);
    }
    log_info("given back: %s", why);
}

static int pilot_fly(struct node_pilot *p)
{
    struct error err;

    if (take_number(p, &err) < 0 || pilot_journal_open(p, &err) < 0) {
        log_error("%s", err.text);
        return EX_IOERR;
    }
    find_resources(p);
    watch_inbox(p);
    p->inbox.scan_ms = SCAN_MIN_MS;
    p->journal.sync_at = INT64_MAX;
    p->idle_since = p->machine->monotonic_ms();
    log_info("pilot %s: %lld CPUs, %lld GPUs", p->config.name, (long long)p->room.cpus, (long long)p->room.n_gpus);
    pilot_say_ready(p);
    pilot_loop(p);
    tree_signal_below(SIGKILL); /* a runner that was killed may have left processes without their environment */
    pilot_forget(p);
    for (int64_t i = 0; i < p->room.n_gpus; i++)
        free(p->room.gpus[i].id);
    free(p->room.gpus);
    free(p->room.own);
    free(p->journal.lines.data);
    return 0;
}

/* Returns whether ALPS has started this process, as aprun does on all nodes at once, with the job's environment. The
 * variables of the batch system do not show it: ALPS's allocations are those of Slurm or PBS. */
static bool alps_placed(struct node_pilot *p)
{
    struct error err;

    if (p->config.nodes > 1 && rank_find(&p->rank, &err) == 0)
        return true;
    p->rank = (struct rank){0};
    return false;
}

int pilot_main(const char *dir, bool on_node, int signal_fd)
{
    struct node_pilot p = {
        .machine = &machine_real, .dir = dir, .inbox.notify = -1, .journal.fd = -1, .signal_fd = signal_fd};
    ssize_t n = readlink("/proc/self/exe", p.runner, sizeof p.runner - 1);
    struct error err;
    int status;

    if (n <= 0 || read_config(&p, &err) < 0) {
        log_error("%s", n <= 0 ? "what program this is cannot be found out" : err.text);
        json_decref(p.config.json);
        return EX_CONFIG;
    }
    on_node = on_node || p.config.nodes == 1;
    if (alps_placed(&p)) {
        status = pilot_fly(&p);
    } else if (on_node && pilot_take_environment(&p, &err) < 0) {
        log_error("%s", err.text);
        status = EX_IOERR;
    } else {
        status = on_node ? pilot_fly(&p) : pilot_launch(&p);
    }
    free(p.node_dir);
    free(p.inbox.dir);
    json_decref(p.config.json);
    return status;
}
