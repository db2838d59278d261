/* stretto-run JOBDIR: starts the tasks of one job, watches the clock, captures output, and writes the exit records. */
#include "config.h"

#include "common/files.h"
#include "common/jobfd.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/claim.h"
#include "tasks/proto/control.h"
#include "tasks/runner/aside.h"
#include "tasks/runner/copies.h"
#include "tasks/runner/deadline.h"
#include "tasks/runner/hosts.h"
#include "tasks/runner/oom.h"
#include "tasks/runner/pilot.h"
#include "tasks/runner/rank.h"
#include "tasks/runner/run.h"
#include "tasks/runner/signals.h"
#include "tasks/runner/runlog.h"
#include "tasks/runner/shell.h"
#include "tasks/runner/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <unistd.h>

struct options {
    const char *jobdir;
    bool local;          /* the daemon that started it is on this host, and watches it */
    pid_t daemon;        /* with `local`: the runner's parent */
    int jobfd;           /* the descriptor that replaces job.json; -1: none */
    const char *gpus;    /* ids of the job's GPUs, separated by commas; NULL: GPUs are not counted */
    const char **launch; /* words of a launch command, see task.h; NULL: none */
    size_t n_launch;
    bool is_rank;
    struct rank rank; /* with `is_rank` */
    bool pilot, node; /* jobdir is a pilot's: on the first node of its allocation, or on any node */
    int64_t until_ms; /* monotonic ms when the time of the pilot that runs it is over; INT64_MAX: no pilot does */
};

/* Opens descriptors 0 to 2 if need be, and closes all others, which were inherited. */
static void clean_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
#ifdef SYS_close_range
    syscall(SYS_close_range, 3u, ~0u, 0u);
#endif
}

static struct jobdesc *read_jobfd(int fd, struct error *err)
{
    struct jobdesc *desc = NULL;
    json_error_t wrong;
    size_t size;
    char *text = jobfd_read(fd, &size, err);
    json_t *root = text ? json_loadb(text, size, JSON_REJECT_DUPLICATES, &wrong) : NULL;

    if (root != NULL)
        desc = jobdesc_parse(root, err);
    else if (text != NULL)
        error_set(err, "job_fd", "no JSON: %s", wrong.text);
    json_decref(root);
    free(text);
    return desc;
}

static struct jobdesc *read_descriptor(const struct options *options, const char *jobdir)
{
    char *path = options->jobfd < 0 ? xasprintf("%s/job.json", jobdir) : xstrdup("the daemon's job fd");
    struct error err = {0};
    struct jobdesc *desc = options->jobfd < 0 ? jobdesc_read(path, &err) : read_jobfd(options->jobfd, &err);

    if (desc == NULL)
        log_error("%s: %s%s%s", path, err.pointer, err.pointer[0] ? ": " : "", err.text);
    free(path);
    return desc;
}

static void log_start(const struct jobdesc *desc)
{
    bool mpiexec = false;

    for (size_t i = 0; i < desc->ntasks; i++)
        mpiexec |= desc->tasks[i].launcher != NULL && strcmp(desc->tasks[i].launcher, "mpiexec") == 0;
    log_info("job %s of ensemble %lld: %zu task%s, walltime %g s", desc->job, (long long)desc->ensemble, desc->ntasks,
             desc->ntasks == 1 ? "" : "s", (double)desc->walltime_ms / 1000);
    if (mpiexec)
        log_info("launcher \"mpiexec\" is %s", STRETTO_MPIEXEC[0] ? STRETTO_MPIEXEC : "not there: built without MPI");
}

/* Returns the batch system's list of the job's GPUs, if it has as many for each task; else NULL, and each task sees
 * all. */
static const char *gpus_to_divide(const char *list, size_t ntasks)
{
    size_t n = list != NULL ? gpus_count(list) : 0;

    return n > 0 && n % ntasks == 0 ? list : NULL;
}

static int run_claimed(const struct options *options, const struct jobdesc *desc, const char *jobdir,
                       const char *tmpdir, int signal_fd, int64_t started_ms)
{
    struct job job = {.machine = &machine_real,
                      .desc = desc,
                      .watched = options->local,
                      .daemon = options->daemon,
                      .jobfd = options->jobfd,
                      .gpus = options->gpus,
                      .tmpdir = tmpdir,
                      .shared = options->is_rank,
                      .launch = options->launch};
    struct error err;
    struct oom oom;
    int rc;

    if (tmpdir != NULL && job_tmpdir_make(tmpdir, &err) < 0) {
        log_error("%s", err.text);
        return EX_IOERR;
    }
    oom_init(&oom, "");
    job.oom = &oom;
    gethostname(job.host, sizeof job.host - 1);
    deadline_set(&job, started_ms, options->until_ms);
    if (!options->local && desc->ntasks > 1)
        job.gpus = gpus_to_divide(getenv("CUDA_VISIBLE_DEVICES"), desc->ntasks);
    if (desc->ntasks > 1 && cpus_own(&job.cpus))
        log_info("%zu CPUs are divided among %zu tasks", job.cpus.n, desc->ntasks);
    if (!job.watched)
        control_nudge(desc->control, desc->job, CONTROL_CLAIM);
    log_start(desc);
    rc = run_job(&job, jobdir, signal_fd, started_ms);
    if (tmpdir != NULL)
        job_tmpdir_remove(tmpdir);
    oom_fini(&oom);
    cpus_fini(&job.cpus);
    return rc == 0 ? 0 : EX_IOERR;
}

/* Returns whether the job is claimed already, so that a second runner does not even create a temporary file; the claim
 * itself decides. */
static bool claimed_before(const char *jobdir)
{
    char *path = xasprintf("%s/claim.json", jobdir);
    bool there = access(path, F_OK) == 0;

    if (there)
        log_info("%s: another runner has this job", path);
    free(path);
    return there;
}

/* Returns the exit status for a failure before the job was claimed: if the run directory cannot be written, the job
 * may be tried again. */
static int not_made(int otherwise)
{
    switch (errno) {
    case ENOSPC:
    case EDQUOT: return RUNNER_NO_ROOM;
    case EROFS:
    case EIO:
    case ESTALE:
    case ENOTCONN: /* the process behind a FUSE file system is gone */
    case ECONNABORTED:
    case ESHUTDOWN: /* the server of a Lustre one is */
    case EHOSTDOWN:
    case ETIMEDOUT: return RUNNER_NOT_WRITTEN;
    default: return otherwise;
    }
}

/* Makes the directories of all tasks before the job is claimed: a failure then has no consequences. Returns 0, or an
 * exit status. */
static int make_directories(const struct jobdesc *desc)
{
    for (size_t i = 0; i < desc->ntasks; i++) {
        const char *checkpoint = json_string_value(json_object_get(desc->tasks[i].env, "STRETTO_CHECKPOINT_DIR"));
        struct error err;

        if (dir_make(desc->tasks[i].dir, &err) < 0 ||
            (checkpoint != NULL && checkpoint[0] == '/' && dir_make(checkpoint, &err) < 0)) {
            int status = not_made(EX_CANTCREAT);

            log_error("task %s: %s", desc->tasks[i].id, err.text);
            return status;
        }
    }
    return 0;
}

/* Moves the daemon's descriptor away from standard input, which the tasks shall not have. */
static int take_jobfd(struct error *err)
{
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fd < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0)
        return error_errno(err, "job_fd", "the job fd on standard input");
    close(null);
    return fd;
}

/* Finds the directory of the job; it exists, unless the descriptor was handed over by the daemon. */
static char *find_jobdir(const struct options *options, struct error *err)
{
    char *jobdir;

    if (options->jobfd >= 0 && dir_make(options->jobdir, err) < 0)
        return NULL;
    jobdir = realpath(options->jobdir, NULL);
    if (jobdir == NULL)
        error_errno(err, "jobdir", "%s", options->jobdir);
    return jobdir;
}

/* Keeps only the rank's own task of the descriptor. False: there is no task for it. */
static bool keep_own(const struct options *options, struct jobdesc *desc)
{
    if (options->rank.number >= (int64_t)desc->ntasks) {
        log_info("rank %lld: the job has %zu tasks", (long long)options->rank.number, desc->ntasks);
        return false;
    }
    jobdesc_keep(desc, (size_t)options->rank.number);
    return true;
}

/* Returns the hosts of each task of a job on several nodes, to be freed; NULL if they are not known. */
static char *find_hosts(const struct jobdesc *desc)
{
    const struct jobdesc_task *task = &desc->tasks[0];
    struct hosts hosts;
    struct error ignored;
    char *text;

    if (desc->kind != JOBDESC_MEMBERS || task->nodes == 1 ||
        hosts_find(&hosts, task->nodes, task->ntasks, &ignored) < 0)
        return NULL;
    text = hosts_text(&hosts, ',');
    hosts_fini(&hosts);
    return text;
}

static int claim_job(const struct options *options, const struct jobdesc *desc, const char *jobdir, const char *tmpdir,
                     struct error *err)
{
    char *hosts;
    int rc, saved;

    if (options->is_rank)
        return claim_make_rank(jobdir, options->rank.number, options->rank.application, tmpdir, err);
    hosts = find_hosts(desc);
    rc = claim_make(jobdir, tmpdir, options->gpus, hosts, err);
    saved = errno;
    free(hosts);
    errno = saved;
    return rc;
}

/* Returns the exit status for a claim that failed. */
static int not_claimed(const struct error *err)
{
    int status = errno == EEXIST ? EX_TEMPFAIL : not_made(EX_IOERR);

    log_line(status == EX_TEMPFAIL ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, NULL, "%s", err->text);
    return status;
}

static int run_directory(const struct options *options, const char *jobdir, int signal_fd, int64_t started_ms)
{
    struct jobdesc *desc;
    const char *tmpdir;
    char name[128];
    struct error err;
    int status;

    if (options->is_rank ? claim_join(jobdir, options->rank.application, &err) < 0 : claimed_before(jobdir))
        return options->is_rank ? not_claimed(&err) : EX_TEMPFAIL;
    desc = read_descriptor(options, jobdir);
    if (desc == NULL)
        return EX_CONFIG;
    if (options->is_rank && !keep_own(options, desc)) {
        jobdesc_free(desc);
        return 0;
    }
    tmpdir = desc->tmpdir ? name : NULL;
    if ((status = make_directories(desc)) != 0) {
        ;
    } else if (tmpdir != NULL && job_tmpdir_name(name, sizeof name, &err) < 0) {
        log_error("%s", err.text);
        status = EX_IOERR;
    } else if (claim_job(options, desc, jobdir, tmpdir, &err) < 0) {
        status = not_claimed(&err);
    } else if (aside_set(jobdir, desc, &err) < 0) {
        log_error("%s", err.text);
        status = EX_IOERR;
    } else {
        status = run_claimed(options, desc, jobdir, tmpdir, signal_fd, started_ms);
    }
    jobdesc_free(desc);
    return status;
}

static int print_usage(void)
{
    fprintf(stderr, "usage: stretto-run [--local [--job-fd]] [--gpus=ID,...] [--launch=WORD]... JOBDIR\n"
                    "       stretto-run --rank JOBDIR\n"
                    "       stretto-run --pilot|--pilot-node JOBDIR\n"
                    "       stretto-run --starter\n"
                    "Runs the job described by JOBDIR/job.json, or by a job fd. A scheduler adapter of strettod starts "
                    "it.\n");
    return EX_USAGE;
}

static void add_launch(struct options *options, const char *word)
{
    options->launch = xrealloc(options->launch, options->n_launch + 2, sizeof *options->launch);
    options->launch[options->n_launch++] = word;
    options->launch[options->n_launch] = NULL;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    int i;

    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--local") == 0)
            options->local = true;
        else if (strcmp(argv[i], "--job-fd") == 0)
            options->jobfd = 0;
        else if (strncmp(argv[i], "--gpus=", 7) == 0)
            options->gpus = argv[i] + 7;
        else if (strncmp(argv[i], "--launch=", 9) == 0)
            add_launch(options, argv[i] + 9);
        else if (strcmp(argv[i], "--rank") == 0)
            options->is_rank = true;
        else if (strcmp(argv[i], "--pilot") == 0)
            options->pilot = true;
        else if (strcmp(argv[i], "--pilot-node") == 0)
            options->node = true;
        else
            return false;
    }
    options->jobdir = argv[i];
    return i == argc - 1 && (options->jobfd < 0 || options->local);
}

/* Runs the job of one directory. */
static int run_jobdir(const struct options *options, int signal_fd, int64_t started_ms)
{
    struct error err;
    char *jobdir;
    int status;

    if (options->local) /* a crash of this host ends the job with all its effects, so no record needs to survive it */
        file_flush_nothing();
    jobdir = find_jobdir(options, &err);
    if (jobdir == NULL) {
        /* no task has this directory, so that a job whose files are refused is not alone with that */
        if (options->jobfd < 0)
            status = EX_CONFIG;
        else
            status = errno == EACCES ? RUNNER_NOT_WRITTEN : not_made(EX_CANTCREAT);
        log_error("%s", err.text);
        return status;
    }
    if (options->local)
        runlog_begin(jobdir);
    if (chdir("/") < 0) { /* so that it keeps no file system busy; a failure does no harm */
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    status = run_directory(options, jobdir, signal_fd, started_ms);
    if (status != 0)
        runlog_keep();
    free(jobdir);
    return status;
}

int run_job_in_copy(const char *jobdir, int jobfd, const char *gpus, pid_t parent, int64_t started_ms, int64_t until_ms)
{
    struct options options = {
        .jobdir = jobdir, .local = true, .daemon = parent, .jobfd = jobfd, .gpus = gpus, .until_ms = until_ms};
    struct error err;
    int signal_fd = run_signals(&err);

    return signal_fd < 0 ? EX_OSERR : run_jobdir(&options, signal_fd, started_ms);
}

int main(int argc, char **argv)
{
    int64_t started_ms = time_monotonic_ms();
    struct options options = {.daemon = getppid(), .jobfd = -1, .until_ms = INT64_MAX};
    static char name[40];
    struct error err;
    int signal_fd, status;

    if (shell_is_meant(argc, argv))
        return shell_become(argc, argv);
    clean_descriptors();
    if (argc > 1 && strcmp(argv[1], "--copies") == 0) { /* the task's own umask is set */
        log_init("stretto-run", LOG_LEVEL_INFO);
        return copies_main(argc, argv);
    }
    umask(077); /* a batch system may have set another: output and records are for the user alone */
    log_init("stretto-run", LOG_LEVEL_INFO);
    if (argc > 1 && strcmp(argv[1], "--starter") == 0)
        return starter_main(argc, argv);
    signal_fd = run_signals(&err);
    if (signal_fd < 0) {
        log_error("%s", err.text);
        return EX_OSERR;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("stretto-run %s\n", PACKAGE_VERSION);
        return 0;
    }
    if (!read_options(argc, argv, &options))
        return print_usage();
    if (options.local)
        cpus_disown();
    if (options.is_rank) {
        if (rank_find(&options.rank, &err) < 0) {
            log_error("%s", err.text);
            return EX_USAGE;
        }
        snprintf(name, sizeof name, "stretto-run %lld", (long long)options.rank.number);
        log_init(name, LOG_LEVEL_INFO);
        rank_guard(signal_fd);
    }
    if (options.pilot || options.node) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        return pilot_main(options.jobdir, options.node, signal_fd);
    }
    if (options.jobfd >= 0 && (options.jobfd = take_jobfd(&err)) < 0) {
        log_error("%s", err.text);
        return EX_OSERR;
    }
    status = run_jobdir(&options, signal_fd, started_ms);
    free(options.launch);
    return status;
}
