/* Sends a backup of the database as a file to download. Nothing is left in the state directory, since the file has no
 * name any more when it is sent. */
#include "daemon/store/backup.h"
#include "api/handlers.h"
#include "api/request.h"
#include "api/stream.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct backup_reply {
    uv_work_t work;
    struct request *r;
    struct backup_source source;
    char *path;
    char *file; /* the file that the caller writes it to; NULL if the query does not name it */
    int fd;
    int64_t size;
    bool failed, unnoted;
    struct error err;
};

static atomic_bool abandoned;
static bool under_way; /* only one at a time, since each needs as much room on the disk as the database */

static int write_backup(struct backup_reply *m)
{
    struct stat st;

    m->fd = mkstemp(m->path);
    if (m->fd < 0)
        return error_errno(&m->err, errno == ENOSPC ? "store_full" : "store_io", "%s", m->path);
    if (backup_write(&m->source, m->path, &m->err) < 0)
        return -1;
    if (fstat(m->fd, &st) < 0)
        return error_errno(&m->err, "store_io", "%s", m->path);
    m->size = st.st_size;
    return 0;
}

static void write_backup_aside(uv_work_t *work)
{
    struct backup_reply *m = work->data;

    m->failed = write_backup(m) < 0;
    m->unnoted = !m->failed && m->file != NULL && backup_note(&m->source, m->file, &m->err) < 0;
    backup_remove(m->path);
    if (m->failed && m->fd >= 0)
        close(m->fd);
}

static void reply_backup(struct backup_reply *m)
{
    if (m->failed) {
        log_error("%s (%s)", m->err.text, m->err.code);
        request_reply_problem(m->r, &m->err);
    } else {
        if (m->unnoted) /* only the note has failed; the backup itself is good */
            log_warn("%s", m->err.text);
        log_info("a backup of %lld bytes is sent", (long long)m->size);
        request_add_header(m->r, "Content-Disposition", "attachment; filename=\"stretto-backup.db\"");
        request_reply_response(m->r, 200, "application/vnd.sqlite3",
                               stream_response(stream_create(m->r, m->work.loop, m->fd, 0, m->size)));
    }
    backup_source_fini(&m->source);
    free(m->path);
    free(m->file);
    free(m);
}

static void flushed(void *arg, const struct error *err)
{
    reply_backup(arg);
}

/* The content of the backup was committed, but must be on the disk before it is sent. */
static void backup_written(uv_work_t *work, int status)
{
    struct backup_reply *m = work->data;

    under_way = false;
    if (!m->failed && !request_is_abandoned(m->r) && store_owes_flush(request_config(m->r)->store))
        turn_after_commit(request_config(m->r)->turn, flushed, m);
    else
        reply_backup(m);
}

void backup_get(struct request *r)
{
    const char *file = request_query(r, "file");
    struct backup_reply *m;
    struct error err;

    if (under_way) {
        request_reply_error(r, "busy", "a backup is being made already");
        return;
    }
    if (file != NULL && (file[0] != '/' || strlen(file) > BACKUP_FILE_MAX)) {
        request_reply_error(r, "query_wrong_value", "\"file\" must be an absolute path of at most %d bytes",
                            BACKUP_FILE_MAX);
        return;
    }
    m = xcalloc(1, sizeof *m);
    if (backup_source_init(&m->source, request_store(r), engine_rows_dir(request_config(r)->engine), &err) < 0) {
        request_reply_problem(r, &err);
        free(m);
        return;
    }
    under_way = true;
    m->source.abandoned = &abandoned;
    m->work.data = m;
    m->r = r;
    m->file = file != NULL ? xstrdup(file) : NULL;
    m->path = backup_temporary(request_config(r)->state_dir);
    request_hold(r);
    uv_queue_work(request_config(r)->loop, &m->work, write_backup_aside, backup_written);
}

void backup_get_stop(void)
{
    if (under_way)
        log_info("the backup that is being made is abandoned");
    atomic_store(&abandoned, true);
}
