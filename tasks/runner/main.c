/* stretto-run JOBDIR: starts the tasks of one job, watches the clock, captures output, writes the exit records. */
#include "config.h"

#include "common/files.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/claim.h"
#include "tasks/runner/run.h"

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
    bool local; /* the daemon that started it is on this host, and watches it */
    const char *gpus; /* ids of those that the job was given, separated by commas; NULL: nobody keeps count of them */
};

/* Descriptors 0 to 2 are open, and nothing that the starter leaked is. */
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

static struct jobdesc *read_descriptor(const char *jobdir)
{
    char *path = xasprintf("%s/job.json", jobdir);
    struct error err = {0};
    struct jobdesc *desc = jobdesc_read(path, &err);

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

static int run_claimed(const struct options *options, const struct jobdesc *desc, const char *jobdir, const char *tmpdir,
                       int signal_fd, int64_t started_ms)
{
    struct control_sender *control = control_sender_create(desc->control, desc->job, desc->control_key);
    struct job job = {.desc = desc, .watched = options->local, .gpus = options->gpus, .tmpdir = tmpdir};
    struct error err;
    int rc;

    if (tmpdir != NULL && job_tmpdir_make(tmpdir, &err) < 0) {
        log_error("%s", err.text);
        control_sender_destroy(control);
        return EX_IOERR;
    }
    gethostname(job.host, sizeof job.host - 1);
    if (desc->walltime_ms > 0)
        job.deadline = (time_now_ms() - (time_monotonic_ms() - started_ms) + desc->walltime_ms) / 1000;
    if (!job.watched)
        control_sender_nudge(control, CONTROL_CLAIM);
    log_start(desc);
    rc = run_job(&job, jobdir, signal_fd, started_ms, control);
    if (tmpdir != NULL)
        job_tmpdir_remove(tmpdir);
    control_sender_destroy(control);
    return rc == 0 ? 0 : EX_IOERR;
}

/* So that the one that comes second leaves not even a temporary file for a moment; the claim itself decides. */
static bool claimed_before(const char *jobdir)
{
    char *path = xasprintf("%s/claim.json", jobdir);
    bool there = access(path, F_OK) == 0;

    if (there)
        log_info("%s: another runner has this job", path);
    free(path);
    return there;
}

/* Of all tasks, before the job is claimed: where there is no room for them, nothing has happened. */
static int make_directories(const struct jobdesc *desc)
{
    for (size_t i = 0; i < desc->ntasks; i++) {
        const char *checkpoint = json_string_value(json_object_get(desc->tasks[i].env, "STRETTO_CHECKPOINT_DIR"));
        struct error err;

        if (dir_make(desc->tasks[i].dir, &err) < 0 ||
            (checkpoint != NULL && checkpoint[0] == '/' && dir_make(checkpoint, &err) < 0)) {
            log_error("task %s: %s", desc->tasks[i].id, err.text);
            return -1;
        }
    }
    return 0;
}

/* Its own log, which the daemon that starts it leaves to it: opening a file may take long. */
static void open_log(const char *jobdir)
{
    char *path = xasprintf("%s/runner.log", jobdir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);

    free(path);
    if (fd < 0)
        return;
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
}

static int run_directory(const struct options *options, const char *jobdir, int signal_fd, int64_t started_ms)
{
    struct jobdesc *desc = read_descriptor(jobdir);
    char name[128];
    const char *tmpdir = desc != NULL && desc->tmpdir ? name : NULL;
    struct error err;
    int status = EX_IOERR;

    if (desc == NULL)
        return EX_CONFIG;
    if (claimed_before(jobdir)) {
        status = EX_TEMPFAIL;
    } else if (make_directories(desc) < 0) {
        status = EX_CANTCREAT;
    } else if (tmpdir != NULL && job_tmpdir_name(name, sizeof name, &err) < 0) {
        log_error("%s", err.text);
    } else if (claim_make(jobdir, tmpdir, options->gpus, &err) < 0) {
        status = errno == EEXIST ? EX_TEMPFAIL : EX_IOERR;
        log_line(status == EX_TEMPFAIL ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, NULL, "%s", err.text);
    } else {
        status = run_claimed(options, desc, jobdir, tmpdir, signal_fd, started_ms);
    }
    jobdesc_free(desc);
    return status;
}

static int usage(void)
{
    fprintf(stderr, "usage: stretto-run [--local] [--gpus=ID,...] JOBDIR\n"
                    "Runs the job described by JOBDIR/job.json. A scheduler adapter of strettod starts it.\n");
    return EX_USAGE;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    int i;

    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--local") == 0)
            options->local = true;
        else if (strncmp(argv[i], "--gpus=", 7) == 0)
            options->gpus = argv[i] + 7;
        else
            return false;
    }
    options->jobdir = argv[i];
    return i == argc - 1;
}

int main(int argc, char **argv)
{
    int64_t started_ms = time_monotonic_ms();
    struct options options = {0};
    struct error err;
    int signal_fd, status;
    char *jobdir;

    clean_descriptors();
    umask(077); /* whatever a batch system has set: output and records are for the user alone */
    log_init("stretto-run", LOG_LEVEL_INFO);
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
        return usage();
    jobdir = realpath(options.jobdir, NULL);
    if (jobdir == NULL) {
        log_error("%s: %s", options.jobdir, strerror(errno));
        return EX_CONFIG;
    }
    if (options.local) {
        open_log(jobdir);
        file_flush_nothing(); /* a crash of this host ends the job with all it did: no record needs to outlive it */
    }
    if (chdir("/") < 0) { /* so that it keeps no file system busy; where that fails, it does */
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    status = run_directory(&options, jobdir, signal_fd, started_ms);
    free(jobdir);
    return status;
}
