/* Keeps room on the disk for changes that end work, when there is none for new work. */
#include "daemon/store/internal.h"

#include "common/log.h"
#include "daemon/store/gather.h"

#include <string.h>

void store_keep_room(struct store *store)
{
    int persist = 1;

    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
    /* empties the log when it begins again, for which gather.c keeps the file's blocks */
    sqlite3_exec(store->db, "PRAGMA journal_size_limit = 0", NULL, NULL, NULL);
    store->log = gather_log(store->db);
}

bool store_empty_log(struct store *store)
{
    int rc;

    if (store->log == NULL || store->in_transaction || gather_owes(store->log))
        return false;
    sqlite3_busy_timeout(store->db, 0); /* does not wait for readers */
    rc = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
    if (rc == SQLITE_OK)
        gather_begin_anew(store->log);
    return rc == SQLITE_OK;
}

int store_check_room(struct store *store, struct error *err)
{
    bool has_room =
        store->log == NULL || gather_has_room(store->log) || (store_empty_log(store) && gather_has_room(store->log));
    int dir = (int)(strrchr(store->path, '/') - store->path);

    if (has_room && store->no_room)
        log_info("there is room in %.*s again", dir, store->path);
    if (!has_room && !store->no_room)
        log_error("there is no room in %.*s: nothing new is accepted or started until there is", dir, store->path);
    store->no_room = !has_room;
    return has_room ? 0
                    : error_set(err, "store_full",
                                "there is no room in %.*s: nothing new is accepted or started until there is", dir,
                                store->path);
}

int store_accept(struct store *store, struct error *err)
{
    if (store_check_room(store, err) < 0)
        return -1;
    if (store->log != NULL)
        gather_spare(store->log, true);
    return 0;
}

void store_spare_no_more(struct store *store)
{
    if (store->log != NULL)
        gather_spare(store->log, false);
}
