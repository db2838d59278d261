/* stretto-run JOBDIR: starts the tasks of one job, watches the clock, captures output, writes the exit records. */
#include "config.h"

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

static int run_claimed(const struct jobdesc *desc, const char *jobdir, const char *tmpdir, int signal_fd,
                       int64_t started_ms)
{
    struct control_sender *control = control_sender_create(desc->control, desc->job, desc->control_key);
    struct job job = {.desc = desc, .tmpdir = tmpdir};
    struct error err;
    int rc;

    if (job_tmpdir_make(tmpdir, &err) < 0) {
        log_error("%s", err.text);
        control_sender_destroy(control);
        return EX_IOERR;
    }
    gethostname(job.host, sizeof job.host - 1);
    if (desc->walltime_ms > 0)
        job.deadline = (time_now_ms() - (time_monotonic_ms() - started_ms) + desc->walltime_ms) / 1000;
    control_sender_nudge(control, CONTROL_CLAIM);
    log_start(desc);
    rc = run_job(&job, jobdir, signal_fd, started_ms, control);
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

static int run_directory(const char *jobdir, int signal_fd, int64_t started_ms)
{
    struct jobdesc *desc = read_descriptor(jobdir);
    char tmpdir[128];
    struct error err;
    int status = EX_IOERR;

    if (desc == NULL)
        return EX_CONFIG;
    if (claimed_before(jobdir)) {
        status = EX_TEMPFAIL;
    } else if (job_tmpdir_name(tmpdir, sizeof tmpdir, &err) < 0) {
        log_error("%s", err.text);
    } else if (claim_make(jobdir, tmpdir, &err) < 0) {
        status = errno == EEXIST ? EX_TEMPFAIL : EX_IOERR;
        log_line(status == EX_TEMPFAIL ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, NULL, "%s", err.text);
    } else {
        status = run_claimed(desc, jobdir, tmpdir, signal_fd, started_ms);
    }
    jobdesc_free(desc);
    return status;
}

int main(int argc, char **argv)
{
    int64_t started_ms = time_monotonic_ms();
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
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: stretto-run JOBDIR\n"
                        "Runs the job described by JOBDIR/job.json. A scheduler adapter of strettod starts it.\n");
        return EX_USAGE;
    }
    jobdir = realpath(argv[1], NULL);
    if (jobdir == NULL) {
        log_error("%s: %s", argv[1], strerror(errno));
        return EX_CONFIG;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    status = run_directory(jobdir, signal_fd, started_ms);
    free(jobdir);
    return status;
}
