#include "daemon/run_mark.h"

#include "common/files.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct run_marker {
    uv_work_t work;
    uv_loop_t *loop;
    struct store *store;
    char *path;
    struct run_mark mark; /* as it was written last, or is being written */
    bool busy, again, over;
    bool failed, told;
    struct error err;
};

static char *mark_path(const char *run_dir)
{
    return xasprintf("%s/mark.json", run_dir);
}

int run_mark_read(const char *run_dir, struct run_mark *mark, struct error *err)
{
    char *path = mark_path(run_dir);
    json_t *json = file_read_json(path, err);
    json_int_t commits, ensemble, job;
    const char *database;
    int rc = 0;

    *mark = (struct run_mark){.database = ""};
    if (json == NULL) {
        rc = errno == ENOENT ? 0 : -1;
    } else if (json_unpack(json, "{s:s, s:I, s:I, s:I}", "database", &database, "commits", &commits, "ensemble",
                           &ensemble, "job", &job) == 0) {
        text_copy(mark->database, sizeof mark->database, database);
        mark->extent = (struct store_extent){.commits = commits, .ensemble = ensemble, .job = job};
    } else {
        rc = error_set(err, "file_json", "%s is no mark of strettod's: move it away", path);
    }
    json_decref(json);
    free(path);
    return rc;
}

static void write_mark_aside(uv_work_t *work)
{
    struct run_marker *m = work->data;
    json_t *json = json_pack("{s:i, s:s, s:I, s:I, s:I}", "version", 1, "database", m->mark.database, "commits",
                             (json_int_t)m->mark.extent.commits, "ensemble", (json_int_t)m->mark.extent.ensemble, "job",
                             (json_int_t)m->mark.extent.job);

    m->failed = file_write_json(m->path, json, 0600, &m->err) < 0;
    json_decref(json);
}

static void marker_free(struct run_marker *m)
{
    free(m->path);
    free(m);
}

static void mark_written(uv_work_t *work, int status)
{
    struct run_marker *m = work->data;

    m->busy = false;
    if (m->failed && !m->told)
        log_warn("the run directory does not have a new mark, by which an older copy of the database would be "
                 "noticed: %s",
                 m->err.text);
    m->told = m->failed;
    if (m->failed)
        m->mark.extent.commits = 0; /* so that it is written again */
    if (m->again && !m->over)
        run_marker_look(m);
    else if (m->over)
        marker_free(m);
}

void run_marker_look(struct run_marker *m)
{
    struct store_extent extent;
    struct error err;

    m->again = m->busy;
    if (m->busy || store_dirty(m->store) || store_extent_get(m->store, &extent, &err) < 0 ||
        extent.commits == m->mark.extent.commits)
        return;
    m->mark.extent = extent;
    m->busy = true;
    uv_queue_work(m->loop, &m->work, write_mark_aside, mark_written);
}

struct run_marker *run_marker_create(uv_loop_t *loop, struct store *store, const char *database, const char *run_dir)
{
    struct run_marker *m = xcalloc(1, sizeof *m);

    m->loop = loop;
    m->store = store;
    m->path = mark_path(run_dir);
    text_copy(m->mark.database, sizeof m->mark.database, database);
    m->work.data = m;
    return m;
}

void run_marker_destroy(struct run_marker *m)
{
    if (m == NULL)
        return;
    m->over = true;
    if (!m->busy)
        marker_free(m);
}
