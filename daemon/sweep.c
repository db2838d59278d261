#include "daemon/sweep.h"

#include "common/below.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/rundir/archive_file.h"
#include "daemon/rundir/own_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMBERS 50 /* members in one step */
#define STEP_MS 50
#define REST_MS 60000 /* pause if there is nothing to do, or a step went wrong */

struct output_sweep {
    uv_timer_t timer;
    uv_work_t work;
    struct store *store;
    struct turn *turn;
    const struct archive *archive;
    const char *run_dir;
    enum retain retain;
    int64_t keep_for_ms;
    bool ending;
    int users; /* counts the timer and the step under way; the last one frees this struct */

    /* fields of the step under way */
    int64_t ensemble, next;
    struct released *attempts;
    size_t n;
    bool failed;
    struct error err;
};

static void sweep_release(struct output_sweep *sweep)
{
    if (--sweep->users > 0)
        return;
    free(sweep->attempts);
    free(sweep);
}

static int keep_swept_attempt(void *arg, const struct released *attempt)
{
    struct output_sweep *sweep = arg;

    sweep->attempts = xrealloc(sweep->attempts, sweep->n + 1, sizeof *attempt);
    sweep->attempts[sweep->n++] = *attempt;
    return 0;
}

/* Removes files of ours from a directory that the user may use as well, and the directory if it is then empty. A
 * missing file is not an error. Anything but a regular file belongs to the user, and so does what a link leads to. */
static int remove_ours(const struct output_sweep *sweep, const char *dir, const char *const names[], size_t n,
                       struct error *err)
{
    int fd = below_open_whole(sweep->run_dir, dir, O_RDONLY | O_DIRECTORY), rc = 0;
    struct stat st;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : error_errno(err, "file_remove", "%s", dir);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            unlinkat(fd, names[i], 0) < 0 && errno != ENOENT)
            rc = error_errno(err, "file_remove", "%s/%s", dir, names[i]);
    close(fd);
    rmdir(dir); /* fails if the user has something else in it */
    return rc;
}

static int remove_output(const struct output_sweep *sweep, const struct released *attempt, struct error *err)
{
    char *member = xasprintf("%s/e%lld/members/%lld/%lld", sweep->run_dir, (long long)sweep->ensemble,
                             (long long)(attempt->index / 1000), (long long)attempt->index);
    char *dir = xasprintf("%s/a%lld", member, (long long)attempt->number), *job = NULL;
    int rc = remove_ours(sweep, dir, attempt_files, ATTEMPT_FILES, err);

    if (rc == 0 && attempt->job_name[0] != '\0') {
        job = xasprintf("%s/e%lld/jobs/%s", sweep->run_dir, (long long)sweep->ensemble, attempt->job_name);
        rc = remove_ours(sweep, job, job_files, JOB_FILES, err);
    }
    if (!attempt->goes_on)
        member_dir_remove_empty(member);
    free(job);
    free(dir);
    free(member);
    return rc;
}

/* Removes the archives of an ensemble of which everything has been let go: those of members that succeeded, and the
 * others if nothing is kept. */
static int remove_archives(const struct output_sweep *sweep, struct error *err)
{
    char *path = xasprintf("%s/e%lld", sweep->run_dir, (long long)sweep->ensemble);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    enum archive_kind kind;
    int64_t number;
    int rc = 0;

    while (dir != NULL && rc == 0 && (entry = readdir(dir)) != NULL)
        if (archive_name_parse(entry->d_name, &kind, &number) &&
            (kind == ARCHIVE_SUCCEEDED || sweep->retain == RETAIN_NONE) && unlinkat(dirfd(dir), entry->d_name, 0) < 0 &&
            errno != ENOENT)
            rc = error_errno(err, "file_remove", "%s/%s", path, entry->d_name);
    if (dir != NULL)
        closedir(dir);
    free(path);
    return rc;
}

static void sweep_step(uv_work_t *work)
{
    struct output_sweep *sweep = work->data;

    for (size_t i = 0; i < sweep->n && !sweep->failed; i++)
        sweep->failed = remove_output(sweep, &sweep->attempts[i], &sweep->err) < 0;
    if (!sweep->failed && sweep->next < 0)
        sweep->failed = remove_archives(sweep, &sweep->err) < 0;
}

static void sweep_on_timer(uv_timer_t *timer);

static void sweep_step_over(struct output_sweep *sweep, uint64_t rest_ms)
{
    if (!sweep->ending)
        uv_timer_start(&sweep->timer, sweep_on_timer, rest_ms, 0);
    sweep_release(sweep);
}

static void sweep_step_done(uv_work_t *work, int status)
{
    struct output_sweep *sweep = work->data;
    struct error err;

    if (sweep->ending) {
        sweep_release(sweep);
        return;
    }
    if (sweep->failed)
        log_warn("output that is no longer kept stays for now: %s", sweep->err.text);
    else if (store_sweep_advance(sweep->store, sweep->retain, sweep->ensemble, sweep->next, &err) == 0 &&
             sweep->next < 0)
        log_info("ensemble %lld: output that is no longer kept has been removed", (long long)sweep->ensemble);
    sweep_step_over(sweep, sweep->failed ? REST_MS : STEP_MS);
}

/* The database on the disk now says that the output is gone, so that no client is sent to files that are being
 * removed. */
static void marked(void *arg, const struct error *failed)
{
    struct output_sweep *sweep = arg;

    if (failed != NULL || sweep->ending) {
        sweep_step_over(sweep, REST_MS);
        return;
    }
    if (sweep->next < 0 && archive_is_busy(sweep->archive, sweep->ensemble)) { /* it may be writing to an archive */
        sweep_step_over(sweep, STEP_MS);
        return;
    }
    uv_queue_work(sweep->timer.loop, &sweep->work, sweep_step, sweep_step_done);
}

static uint64_t sweep_rest(const struct output_sweep *sweep)
{
    return sweep->keep_for_ms / 2 < REST_MS ? (uint64_t)sweep->keep_for_ms / 2 : REST_MS;
}

static void sweep_on_timer(uv_timer_t *timer)
{
    struct output_sweep *sweep = timer->data;
    int64_t now = time_now_ms(), from;
    struct error err;
    int rc = store_sweep_find(sweep->store, sweep->retain, now - sweep->keep_for_ms, &sweep->ensemble, &from, &err);

    sweep->n = 0;
    sweep->failed = false;
    if (rc == 1)
        rc = store_sweep_mark(sweep->store, sweep->retain, sweep->ensemble, from, MEMBERS, now, keep_swept_attempt,
                              sweep, &sweep->next, &err) < 0
                 ? -1
                 : 1;
    if (rc < 0)
        log_warn("output that is no longer kept stays for now: %s", err.text);
    if (rc <= 0) {
        uv_timer_start(timer, sweep_on_timer, sweep_rest(sweep), 0);
        return;
    }
    sweep->users++;
    turn_after_commit(sweep->turn, marked, sweep);
}

struct output_sweep *sweep_create(uv_loop_t *loop, struct store *store, struct turn *turn,
                                  const struct archive *archive, const char *run_dir, enum retain retain,
                                  int64_t keep_for_ms)
{
    struct output_sweep *sweep = xcalloc(1, sizeof *sweep);
    struct error err;

    sweep->store = store;
    sweep->turn = turn;
    sweep->archive = archive;
    sweep->run_dir = run_dir;
    sweep->retain = retain;
    sweep->keep_for_ms = keep_for_ms;
    sweep->users = 1;
    sweep->work.data = sweep;
    uv_timer_init(loop, &sweep->timer);
    sweep->timer.data = sweep;
    if (retain != RETAIN_ALL && store_sweep_restart(store, &err) == 0)
        uv_timer_start(&sweep->timer, sweep_on_timer, STEP_MS, 0);
    return sweep;
}

static void sweep_timer_closed(uv_handle_t *handle)
{
    sweep_release(handle->data);
}

void sweep_destroy(struct output_sweep *sweep)
{
    if (sweep == NULL)
        return;
    sweep->ending = true;
    uv_close((uv_handle_t *)&sweep->timer, sweep_timer_closed);
}
