#include "daemon/store/checkpoint.h"

#include "common/xalloc.h"
#include "daemon/store/internal.h"

#include <stdlib.h>

#define PAGES_WORKER 2000 /* pages of 2 KiB in the log; as many bytes as SQLite's default of 1000 pages of 4 KiB */
#define PAGES_LOOP 8000

struct checkpoint {
    uv_work_t work;
    uv_loop_t *loop;
    struct store *store; /* belongs to the loop's thread */
    sqlite3 *own;        /* a connection that the worker opens and uses */
    char *path;
    bool under_way;
    bool rest;                  /* the worker has written back its part; commits made meanwhile are left */
    bool filled, fresh, copied; /* the log has something; it came within the last second; the database has it, too */
    bool over;
};

/* Opens the worker's connection and reads once, since a connection that has read nothing does not know that there is a
 * log. */
static void open_own(struct checkpoint *c)
{
    if (sqlite3_open_v2(c->path, &c->own, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
        sqlite3_exec(c->own, "PRAGMA schema_version", NULL, NULL, NULL) == SQLITE_OK)
        return;
    sqlite3_close(c->own);
    c->own = NULL;
}

static void on_worker(uv_work_t *work)
{
    struct checkpoint *c = work->data;

    if (c->own == NULL)
        open_own(c);
    if (c->own == NULL)
        return;
    /* A failure does no harm, since the log has everything. If it lasts, the next commit fails, too. */
    sqlite3_wal_checkpoint_v2(c->own, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

static void checkpoint_end(struct checkpoint *c)
{
    sqlite3_close(c->own);
    free(c->path);
    free(c);
}

static void after_work(uv_work_t *work, int status)
{
    struct checkpoint *c = work->data;

    c->under_way = false;
    c->rest = true;
    c->copied = !c->fresh;
    if (c->over)
        checkpoint_end(c);
}

static void begin_work(struct checkpoint *c)
{
    c->under_way = true;
    uv_queue_work(c->loop, &c->work, on_worker, after_work);
}

void checkpoint_look(struct checkpoint *c)
{
    bool fresh = c != NULL && c->fresh;

    if (c == NULL || !c->filled || c->under_way)
        return;
    c->fresh = false;
    if (fresh)
        return;
    if (!c->copied)
        begin_work(c);
    else if (store_empty_log(c->store))
        c->filled = c->rest = false;
}

/* SQLite calls this after each commit, outside of any transaction. */
static int on_commit(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct checkpoint *c = arg;
    struct error err;

    c->filled = c->fresh = true;
    c->copied = false;
    if (pages < PAGES_WORKER)
        return SQLITE_OK;
    if (!c->under_way && !c->rest) {
        begin_work(c);
    } else if (!c->under_way || pages >= PAGES_LOOP) {
        c->rest = false;
        if (store_flush_owed(c->store, &err) < 0) /* the next flush reports the error */
            return SQLITE_OK;
        sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    return SQLITE_OK;
}

struct checkpoint *checkpoint_create(uv_loop_t *loop, struct store *store)
{
    struct checkpoint *c;

    if (store->exclusive)
        return NULL;
    c = xcalloc(1, sizeof *c);
    c->loop = loop;
    c->store = store;
    c->path = xstrdup(store->path);
    c->work.data = c;
    sqlite3_wal_hook(store->db, on_commit, c);
    return c;
}

void checkpoint_destroy(struct checkpoint *c)
{
    if (c == NULL)
        return;
    sqlite3_wal_autocheckpoint(c->store->db, PAGES_WORKER); /* replaces on_commit() */
    c->over = true;
    if (!c->under_way)
        checkpoint_end(c);
}
