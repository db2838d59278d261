#include "daemon/archive.h"

#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/rundir/archiving.h"
#include "daemon/store/archived.h"

#include <stdlib.h>
#include <string.h>

#define JOBS 200        /* jobs in one step */
#define ATTEMPTS 500    /* no further job is added to a step that has so many attempts */
#define KEEP_JOBS 10000 /* more than so many jobs do not wait for `after_ms` */
#define REST_MS 5000    /* pause if there is nothing to do */
#define RETRY_MS 60000  /* pause after a step that went wrong */

struct archive {
    uv_timer_t timer;
    uv_work_t work;
    struct store *store;
    struct turn *turn;
    int64_t after_ms;
    bool ending;
    int users; /* counts the timer and the step under way; the last one frees this struct */

    struct archiving archiving; /* the step under way */
    bool busy;
    bool removing; /* originals are being removed, or will be as soon as the copies are committed */
    int64_t *last; /* the members that may lose their directories, in ascending order */
    size_t n_last;
    bool again; /* the step goes on with what a daemon before has copied: there is nothing to write */
    bool failed;
    struct error err;
};

static void archive_release(struct archive *archive)
{
    if (--archive->users > 0)
        return;
    archiving_clear(&archive->archiving);
    free(archive->last);
    free(archive);
}

bool archive_is_busy(const struct archive *archive, int64_t ensemble)
{
    return archive != NULL && archive->busy && archive->archiving.ensemble == ensemble;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

bool archive_holds(const struct archive *archive, int64_t ensemble, int64_t index)
{
    if (!archive->removing || archive->archiving.ensemble != ensemble)
        return false;
    return archive->n_last > 0 && bsearch(&index, archive->last, archive->n_last, sizeof index, compare) != NULL;
}

static void archive_on_timer(uv_timer_t *timer);

static void archive_step_over(struct archive *archive, uint64_t rest_ms)
{
    archiving_clear(&archive->archiving);
    archive->busy = archive->removing = archive->again = false;
    if (!archive->ending)
        uv_timer_start(&archive->timer, archive_on_timer, rest_ms, 0);
    archive_release(archive);
}

static void warn_not_archived(const struct error *err)
{
    log_warn("files of ended attempts are not archived for now: %s", err->text);
}

static int add_row(void *arg, const struct unarchived *row)
{
    struct archiving *p = arg;
    struct archiving_job *job;

    if (p->n_jobs == 0 || p->jobs[p->n_jobs - 1].id != row->job) {
        p->jobs = xrealloc(p->jobs, p->n_jobs + 1, sizeof *p->jobs);
        p->jobs[p->n_jobs++] = (struct archiving_job){.id = row->job, .first = p->n_attempts};
        memcpy(p->jobs[p->n_jobs - 1].name, row->job_name, sizeof row->job_name);
    }
    if (row->index < 0)
        return 0;
    job = &p->jobs[p->n_jobs - 1];
    job->n++;
    p->attempts = xrealloc(p->attempts, p->n_attempts + 1, sizeof *p->attempts);
    p->attempts[p->n_attempts++] = (struct archiving_attempt){.index = row->index,
                                                              .number = row->number,
                                                              .kind = (enum archive_kind)row->kind,
                                                              .archived = row->archive > 0,
                                                              .file = row->archive,
                                                              .at = row->at};
    return 0;
}

static int add_some(void *arg, const struct unarchived *row)
{
    const struct archiving *p = arg;

    if (p->n_attempts >= ATTEMPTS && p->jobs[p->n_jobs - 1].id != row->job)
        return 1;
    return add_row(arg, row);
}

/* Finds out which members may lose their directories. Nothing that the engine does before the originals are removed can
 * change that, since archive_holds() stops it. */
static int find_last_attempts(struct archive *archive, struct error *err)
{
    struct archiving *p = &archive->archiving;

    archive->n_last = 0;
    archive->last = xrealloc(archive->last, p->n_attempts + 1, sizeof *archive->last);
    for (size_t i = 0; i < p->n_attempts; i++) {
        int rc = store_archive_is_last(archive->store, p->ensemble, p->attempts[i].index, p->attempts[i].number, err);

        if (rc < 0)
            return -1;
        p->attempts[i].last = rc == 1;
        if (rc == 1)
            archive->last[archive->n_last++] = p->attempts[i].index;
    }
    qsort(archive->last, archive->n_last, sizeof *archive->last, compare);
    return 0;
}

/* Notes the jobs of this step, so that a daemon that comes after a crash removes their remaining files. */
static int note_jobs(struct archive *archive, struct error *err)
{
    const struct archiving *p = &archive->archiving;
    struct text text = {0};
    int rc;

    for (size_t i = 0; i < p->n_jobs; i++) {
        text_string(&text, i == 0 ? "[" : ",");
        text_number(&text, p->jobs[i].whole ? p->jobs[i].id : -p->jobs[i].id);
    }
    text_string(&text, "]");
    rc = store_archiving_put(archive->store, p->ensemble, text.data, err);
    free(text.data);
    return rc;
}

/* Stores where the copies are. */
static int store_places(struct archive *archive, struct error *err)
{
    struct archiving *p = &archive->archiving;

    for (size_t i = 0; i < p->n_attempts; i++) {
        const struct archiving_attempt *a = &p->attempts[i];
        struct unarchived row = {
            .index = a->index, .number = a->number, .archive = a->file, .kind = a->kind, .at = a->at};

        if (a->archived && store_archive_put(archive->store, p->ensemble, &row, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < p->n_jobs; i++)
        if (store_archive_job(archive->store, p->jobs[i].id, err) < 0)
            return -1;
    for (int kind = 0; kind < ARCHIVE_KINDS; kind++)
        if (p->files[kind].number > 0 && store_archive_file_put(archive->store, p->ensemble, kind,
                                                                p->files[kind].number, p->files[kind].size, err) < 0)
            return -1;
    return find_last_attempts(archive, err) < 0 ? -1 : note_jobs(archive, err);
}

static void after_remove(uv_work_t *work, int status)
{
    struct archive *archive = work->data;
    struct archiving *p = &archive->archiving;
    struct error err;

    if (archive->ending) {
        archive_release(archive);
        return;
    }
    if (archive->failed) { /* the row of these jobs stays, and a later step tries again */
        warn_not_archived(&archive->err);
        archive_step_over(archive, RETRY_MS);
        return;
    }
    for (size_t i = 0; i < p->n_attempts; i++) { /* a file that was written to since stays as it is */
        struct unarchived row = {.index = p->attempts[i].index, .number = p->attempts[i].number};

        if (p->attempts[i].archived && p->attempts[i].changed)
            store_archive_put(archive->store, p->ensemble, &row, &err);
    }
    store_archiving_drop(archive->store, &err);
    archive_step_over(archive, 0);
}

static void on_remove(uv_work_t *work)
{
    struct archive *archive = work->data;

    archive->failed = archiving_remove(&archive->archiving, &archive->err) < 0;
}

/* The database on the disk now says where the copies are. */
static void stored(void *arg, const struct error *failed)
{
    struct archive *archive = arg;

    if (failed != NULL || archive->ending) {
        archive_step_over(archive, RETRY_MS);
        return;
    }
    uv_queue_work(archive->timer.loop, &archive->work, on_remove, after_remove);
}

static void archive_written(uv_work_t *work, int status)
{
    struct archive *archive = work->data;

    if (archive->ending) {
        archive_release(archive);
        return;
    }
    if (archive->failed || store_places(archive, &archive->err) < 0) {
        warn_not_archived(&archive->err);
        archive_step_over(archive, RETRY_MS);
        return;
    }
    archive->removing = true;
    turn_after_commit(archive->turn, stored, archive);
}

static void on_write(uv_work_t *work)
{
    struct archive *archive = work->data;

    archive->failed = archiving_write(&archive->archiving, &archive->err) < 0;
}

/* Reads what a step, perhaps of a daemon before, has copied and not removed. Returns 1, 0 if there is nothing, -1.
 */
static int find_copied(struct archive *archive, struct error *err)
{
    struct archiving *p = &archive->archiving;
    char *text;
    json_t *jobs;
    int rc = store_archiving_get(archive->store, &p->ensemble, &text, err);

    if (rc <= 0)
        return rc;
    jobs = json_loads(text, 0, NULL);
    for (size_t i = 0; i < json_array_size(jobs) && rc == 1; i++) {
        int64_t id = json_integer_value(json_array_get(jobs, i));
        size_t before = p->n_jobs;

        if (store_archive_each_of(archive->store, id < 0 ? -id : id, add_row, p, err) < 0)
            rc = -1;
        else if (p->n_jobs > before)
            p->jobs[before].whole = id > 0;
    }
    json_decref(jobs);
    free(text);
    if (rc == 1 && find_last_attempts(archive, err) < 0)
        rc = -1;
    return rc;
}

/* Reads the next job or attempt to be archived. Returns 1, 0 if nothing is due, or -1. */
static int find_unarchived(struct archive *archive, struct error *err)
{
    struct archiving *p = &archive->archiving;
    int64_t before = time_now_ms() - archive->after_ms;
    bool crowded;
    int rc = store_archive_due(archive->store, before, KEEP_JOBS, &p->ensemble, &crowded, err);

    if (rc <= 0)
        return rc;
    for (int kind = 0; kind < ARCHIVE_KINDS; kind++)
        if (store_archive_file(archive->store, p->ensemble, kind, &p->files[kind].number, &p->files[kind].size, err) <
            0)
            return -1;
    return store_archive_each(archive->store, p->ensemble, crowded ? INT64_MAX : before, JOBS, add_some, p, err) < 0
               ? -1
               : 1;
}

static int64_t archive_rest(const struct archive *archive)
{
    int64_t half = archive->after_ms / 2;

    return half > REST_MS ? REST_MS : half < 100 ? 100 : half;
}

static void archive_on_timer(uv_timer_t *timer)
{
    struct archive *archive = timer->data;
    struct error err;
    int rc = find_copied(archive, &err);

    archive->again = archive->removing = rc == 1;
    if (rc == 0)
        rc = store_check_room(archive->store, &err) < 0 ? 0 : find_unarchived(archive, &err);
    if (rc < 0)
        warn_not_archived(&err);
    if (rc <= 0) {
        archiving_clear(&archive->archiving);
        uv_timer_start(timer, archive_on_timer, (uint64_t)archive_rest(archive), 0);
        return;
    }
    archive->users++;
    archive->busy = true;
    archive->failed = false;
    if (archive->again)
        uv_queue_work(timer->loop, &archive->work, on_remove, after_remove);
    else
        uv_queue_work(timer->loop, &archive->work, on_write, archive_written);
}

struct archive *archive_create(uv_loop_t *loop, struct store *store, struct turn *turn, const char *run_dir,
                               int64_t after_ms)
{
    struct archive *archive = xcalloc(1, sizeof *archive);

    archive->store = store;
    archive->turn = turn;
    archive->archiving.run_dir = run_dir;
    archive->after_ms = after_ms;
    archive->users = 1;
    archive->work.data = archive;
    uv_timer_init(loop, &archive->timer);
    archive->timer.data = archive;
    archive_on_timer(&archive->timer);
    return archive;
}

static void archive_timer_closed(uv_handle_t *handle)
{
    archive_release(handle->data);
}

void archive_destroy(struct archive *archive)
{
    if (archive == NULL)
        return;
    archive->ending = true;
    uv_close((uv_handle_t *)&archive->timer, archive_timer_closed);
}
