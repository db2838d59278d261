#include "tasks/runner/copies.h"

#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/runner/cpus.h"
#include "tasks/runner/hosts.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

/* Signals that warn a task, or end it: each goes on to all copies. */
static const int passed_on[] = {SIGTERM, SIGINT,  SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
                                SIGALRM, SIGCONT, SIGURG, SIGXCPU, SIGWINCH};

#define PASSED_ON (sizeof passed_on / sizeof *passed_on)

struct launched_copies {
    char **command;
    int64_t grace_ms;
    pid_t *pids; /* 0: it has ended */
    size_t n, left;
    int64_t first, world; /* the rank of the first copy here, and the ranks on all hosts */
    struct cpus cpus;     /* of this task alone; none: they are not divided */
    char *gpus;           /* ids, separated by commas; NULL: nobody has counted them */
    bool failed;          /* a copy has failed, and the others are being ended */
    bool told;            /* all were told to end by a signal from outside */
    int status;           /* of the copy that failed first */
    int64_t kill_at;      /* monotonic ms; INT64_MAX: never */
};

bool copies_are_meant(const struct jobdesc_task *task)
{
    return task->launcher != NULL && strcmp(task->launcher, COPIES_LAUNCHER) == 0;
}

void copies_launch(struct copies_words *words, const struct jobdesc_task *task, int64_t grace_ms)
{
    ssize_t len = readlink("/proc/self/exe", words->runner, sizeof words->runner - 1);
    const char *const srun[] = {
        "srun",       words->nodes,   words->ntasks, "--ntasks-per-node=1", "--cpu-bind=none", "--kill-on-bad-exit=1",
        "--mpi=none", "--input=none", "--quiet"};
    size_t n = 0;

    words->runner[len > 0 ? len : 0] = '\0';
    snprintf(words->grace, sizeof words->grace, "%" PRId64, grace_ms);
    snprintf(words->nodes, sizeof words->nodes, "--nodes=%" PRId64, task->nodes);
    snprintf(words->ntasks, sizeof words->ntasks, "--ntasks=%" PRId64, task->nodes);
    if (task->nodes > 1)
        for (; n < sizeof srun / sizeof *srun; n++)
            words->list[n] = srun[n];
    words->list[n++] = words->runner;
    words->list[n++] = "--copies";
    words->list[n++] = words->grace;
    words->list[n] = NULL;
}

/* Finds the ranks of this host. Slurm numbers the nodes of a step in the order of the job's list of nodes. */
static int find_place(struct launched_copies *c)
{
    const char *text = getenv("STRETTO_HOSTS"), *number = getenv("SLURM_NODEID");
    struct hosts hosts;
    size_t here;

    if (text == NULL || hosts_parse(&hosts, text) < 0) {
        log_error("STRETTO_HOSTS is no list of hosts: %.200s", text != NULL ? text : "(unset)");
        return -1;
    }
    here = hosts.n > 1 && number != NULL ? strtoul(number, NULL, 10) : 0;
    if (here >= hosts.n || (hosts.n > 1 && number == NULL)) {
        log_error("the number of this node is not known, of %zu in STRETTO_HOSTS: SLURM_NODEID is %s", hosts.n,
                  number != NULL ? number : "not set");
        hosts_fini(&hosts);
        return -1;
    }
    for (size_t i = 0; i < hosts.n; i++) {
        c->first += i < here ? hosts.list[i].slots : 0;
        c->world += hosts.list[i].slots;
    }
    c->n = (size_t)hosts.list[here].slots;
    hosts_fini(&hosts);
    return 0;
}

static void set_number(const char *name, int64_t n)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, n);
    setenv(name, text, 1);
}

/* Copies `n` ids of the list, from the i-th, into a new string. */
static char *some_of(const char *list, size_t i, size_t n)
{
    const char *end;

    while (i-- > 0)
        list += strcspn(list, ",") + 1;
    for (end = list; n > 0; n--)
        end += strcspn(end, ",") + (n > 1);
    return xasprintf("%.*s", (int)(end - list), list);
}

/* Gives a copy its GPUs: as many as each of the others, or one that others have as well, if there are fewer GPUs
 * than copies. */
static void copy_set_gpus(const struct launched_copies *c, size_t i)
{
    size_t all = 1, each;
    char *own;

    if (c->gpus == NULL || c->gpus[0] == '\0')
        return;
    for (const char *p = c->gpus; *p != '\0'; p++)
        all += *p == ',';
    each = all / c->n;
    own = each > 0 ? some_of(c->gpus, i * each, each) : some_of(c->gpus, i * all / c->n, 1);
    setenv("CUDA_VISIBLE_DEVICES", own, 1);
    if (getenv("STRETTO_GPUS") != NULL)
        setenv("STRETTO_GPUS", own, 1);
    free(own);
}

static void bind_cpus(const struct launched_copies *c, size_t i)
{
    cpu_set_t set;
    size_t first, n = cpus_part(c->cpus.n, c->n, i, &first);

    CPU_ZERO(&set);
    for (size_t cpu = first; cpu < first + n; cpu++)
        CPU_SET(c->cpus.list[cpu].id, &set);
    if (n > 0)
        sched_setaffinity(0, sizeof set, &set); /* if this is refused, the copy runs on any CPU of the task */
}

/* Becomes the i-th copy, in a new process. */
static void copy_become(const struct launched_copies *c, size_t i, pid_t launcher)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(EX_OSERR);
    set_number("RANK", c->first + (int64_t)i);
    set_number("LOCAL_RANK", (int64_t)i);
    copy_set_gpus(c, i);
    bind_cpus(c, i);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(c->command[0], c->command);
    log_error("cannot start \"%s\": %s", c->command[0], strerror(errno));
    _exit(127);
}

static void signal_all(const struct launched_copies *c, int sig)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->pids[i] > 0)
            kill(c->pids[i], sig);
}

static void copies_fail(struct launched_copies *c, int status)
{
    c->failed = true;
    c->status = status;
    c->kill_at = time_monotonic_ms() + c->grace_ms;
    signal_all(c, SIGTERM);
}

static int copies_start(struct launched_copies *c)
{
    pid_t launcher = getpid();

    c->pids = xcalloc(c->n, sizeof *c->pids);
    for (size_t i = 0; i < c->n; i++) {
        pid_t pid = fork();

        if (pid == 0)
            copy_become(c, i, launcher);
        if (pid < 0) {
            log_error("cannot start copy %zu of %zu: %s", i, c->n, strerror(errno));
            copies_fail(c, W_EXITCODE(EX_OSERR, 0));
            return -1;
        }
        c->pids[i] = pid;
        c->left++;
    }
    return 0;
}

/* The reason for a member's end is the last line that is no notice: so this is one. */
static void copy_explain_end(const struct launched_copies *c, size_t i, int status)
{
    if (WIFSIGNALED(status))
        log_info("rank %lld was killed by signal %d (%s): the other %zu on this host are ended",
                 (long long)c->first + (long long)i, WTERMSIG(status), strsignal(WTERMSIG(status)), c->left);
    else
        log_info("rank %lld ended with status %d: the other %zu on this host are ended",
                 (long long)c->first + (long long)i, WEXITSTATUS(status), c->left);
}

static bool is_on_many(const struct launched_copies *c)
{
    return c->world > (int64_t)c->n;
}

/* Returns whether a copy has ended since all got the signal to end. Slurm signals every process of a step: a copy may
 * get its signal, and end by it, before this process does. */
static bool was_told(const struct launched_copies *c, int status)
{
    sigset_t set;

    sigpending(&set);
    return c->told || sigismember(&set, SIGTERM) ||
           (is_on_many(c) && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void copies_reap(struct launched_copies *c)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        size_t i = 0;

        while (i < c->n && c->pids[i] != pid)
            i++;
        if (i == c->n)
            continue;
        c->pids[i] = 0;
        c->left--;
        if (status == 0 || c->failed)
            continue;
        if (was_told(c, status)) { /* the others are ending, too, each in its own time */
            c->failed = true;
            /* srun ends with the highest status of all nodes, which shall be that of the copy that failed by itself */
            c->status = is_on_many(c) ? W_EXITCODE(1, 0) : status;
            continue;
        }
        copy_explain_end(c, i, status);
        copies_fail(c, status);
    }
}

/* Waits for one signal, or until the copies are to be killed. */
static void wait_once(struct launched_copies *c, const sigset_t *set)
{
    int64_t now = time_monotonic_ms(), ms = c->kill_at == INT64_MAX ? 60000 : c->kill_at > now ? c->kill_at - now : 0;
    struct timespec timeout = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    int sig = sigtimedwait(set, NULL, &timeout);

    if (sig > 0 && sig != SIGCHLD) {
        c->told = c->told || sig == SIGTERM || sig == SIGINT || sig == SIGHUP;
        signal_all(c, sig);
    }
    if (time_monotonic_ms() >= c->kill_at) {
        signal_all(c, SIGKILL);
        c->kill_at = INT64_MAX;
    }
}

/* Ends as the copy did. */
static int end_as(int status)
{
    const struct rlimit none = {0, 0};
    sigset_t set;

    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

int copies_main(int argc, char **argv)
{
    struct launched_copies c = {.kill_at = INT64_MAX};
    const char *gpus = getenv("STRETTO_GPUS");
    sigset_t set;

    if (argc < 4)
        return EX_USAGE;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < PASSED_ON; i++)
        sigaddset(&set, passed_on[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    c.grace_ms = strtoll(argv[2], NULL, 10);
    c.command = argv + 3;
    if (find_place(&c) < 0)
        return EX_CONFIG;
    if (gpus == NULL)
        gpus = getenv("CUDA_VISIBLE_DEVICES");
    c.gpus = gpus != NULL ? xstrdup(gpus) : NULL;
    cpus_own(&c.cpus);
    set_number("WORLD_SIZE", c.world);
    set_number("LOCAL_WORLD_SIZE", (int64_t)c.n);
    copies_start(&c);
    while (c.left > 0) {
        copies_reap(&c);
        if (c.left > 0)
            wait_once(&c, &set);
    }
    free(c.pids);
    free(c.gpus);
    cpus_fini(&c.cpus);
    return c.failed ? end_as(c.status) : 0;
}
