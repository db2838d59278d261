/* A disk without room, one connection that has to do, backups that are given up, and damage in a large database. */
#include "common/log.h"
#include "daemon/store/backup.h"
#include "daemon/store/event.h"
#include "daemon/store/internal.h"
#include "tests/unit/open_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static bool disk_is_full; /* for blocks of files; what they have stays theirs */

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    if (disk_is_full) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, offset, size);
}

static const char *state_dir(void)
{
    static char dir[256];

    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(store->path, '/') - store->path), store->path);
    return dir;
}

/* A large change, which the log has to take. */
static int write_much(void)
{
    static char detail[100000];

    memset(detail, ' ', sizeof detail - 1);
    detail[0] = '{';
    detail[sizeof detail - 2] = '}';
    for (int i = 0; i < 48; i++)
        store_event_put(store, 1, "x", 1, -1, detail, &err);
    return store_commit(store, &err);
}

/* New work is refused while there is no more room than work under way may need, which may use it. A log that is in the
 * database gives its room back. */
static void room_is_kept_for_work_under_way(void **state)
{
    sqlite3_wal_autocheckpoint(store->db, 0);
    must(store_check_room(store, &err));
    must(store_accept(store, &err));
    must(store_commit(store, &err));
    disk_is_full = true;
    must(store_check_room(store, &err)); /* what the log has is enough for now */
    must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    must(store_accept(store, &err));
    assert_int_equal(write_much(), -1);
    assert_string_equal(err.code, "store_full");
    must(write_much()); /* of work that was accepted before */
    must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    assert_int_equal(store_check_room(store, &err), -1); /* the log cannot be emptied while changes are open */
    assert_string_equal(err.code, "store_full");
    assert_int_equal(store_accept(store, &err), -1);
    store_defer_flush(store, true);
    must(store_commit(store, &err));
    assert_true(store_owes_flush(store));
    assert_int_equal(store_check_room(store, &err), -1); /* nor what is not on the disk */
    must(store_flush_owed(store, &err));
    assert_false(store_owes_flush(store));
    must(store_check_room(store, &err));
    must(store_accept(store, &err));
    must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    must(store_commit(store, &err));
    disk_is_full = false;
    must(store_accept(store, &err));
    must(write_much());
}

static int on_nfs(const char *path, struct statfs *out)
{
    out->f_type = 0x6969;
    return 0;
}

/* Where one connection has to do, there is neither a reader nor a log that keeps room, nor a backup while the daemon
 * runs. */
static void one_connection_has_to_do(void **state)
{
    const struct store_options options = {.allow_network = true, .statfs = on_nfs};
    struct store *usual = store, *reader;
    struct backup_source source;
    char dir[300];

    snprintf(dir, sizeof dir, "%s/network", state_dir());
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(store_open_with(&store, dir, &options, &err), 0);
    must(store_open_reader(&reader, store, &err));
    assert_null(reader);
    disk_is_full = true;
    must(store_check_room(store, &err));
    must(store_accept(store, &err));
    disk_is_full = false;
    assert_int_equal(backup_source_init(&source, store, dir, &err), -1);
    assert_string_equal(err.code, "backup_unavailable");
    add_ensemble(3);
    must(store_commit(store, &err));
    store_close(store);
    store = usual;
}

/* Who begins it may end it, and what is left of one that was not ended goes. */
static void a_backup_is_given_up(void **state)
{
    struct backup_source source;
    atomic_bool abandoned = true;
    char *name = backup_temporary(state_dir()), other[300], to[300];
    int64_t failures;
    int fd;

    for (int i = 0; i < 2000; i++)
        must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    must(store_commit(store, &err));
    snprintf(other, sizeof other, "%s/mine", state_dir());
    snprintf(to, sizeof to, "%s/to", state_dir());
    assert_int_equal(strncmp(name, state_dir(), strlen(state_dir())), 0);
    fd = mkstemp(name);
    assert_true(fd >= 0 && close(fd) == 0);
    fd = open(other, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0 && close(fd) == 0);
    must(backup_source_init(&source, store, state_dir(), &err));
    source.abandoned = &abandoned;
    assert_int_equal(backup_write(&source, to, &err), -1);
    assert_string_equal(err.code, "not_ready");
    unlink(to);
    atomic_store(&abandoned, false);
    must(backup_write(&source, to, &err));
    assert_int_equal(backup_write(&source, to, &err), -1); /* it is not empty */
    assert_string_equal(err.code, "store_io");
    backup_source_fini(&source);
    backup_sweep(state_dir());
    assert_int_not_equal(access(name, F_OK), 0);
    assert_true(access(other, F_OK) == 0 && access(to, F_OK) == 0);
    must(reopen_store());
    free(name);

    failures = store_failures(store);
    assert_int_equal(store_exec(store, &err, "INSERT INTO meta (key, value) VALUES ('a', 'a'), ('a', 'b')", ""), -1);
    assert_int_equal(store_failures(store), failures + 1);
    assert_non_null(strstr(store_last_failure(store), "UNIQUE"));
    assert_int_equal(store_commit(store, &err), -1);
}

/* The look at a whole database is given up when it takes long, and not before. */
static void damage_is_found_where_there_are_many_rows(void **state)
{
    must(store_exec(store, &err, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) INSERT INTO job (ensemble, kind, "
                    "adapter, name, state, size, created) SELECT ?1, 'members', 'local', i, 'intent', 1, 1 FROM n", "i", add_ensemble(9)));
    must(store_commit(store, &err));
    must(store_check_whole(store, &err));
    assert_int_equal(sqlite3_exec(store->db,
                                  "PRAGMA ignore_check_constraints = ON; UPDATE job SET size = 0 WHERE id = 30000; "
                                  "PRAGMA ignore_check_constraints = OFF",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(store_check_whole(store, &err), -1);
    assert_string_equal(err.code, "store_damaged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(room_is_kept_for_work_under_way, open_store, close_store),
        cmocka_unit_test_setup_teardown(one_connection_has_to_do, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_backup_is_given_up, open_store, close_store),
        cmocka_unit_test_setup_teardown(damage_is_found_where_there_are_many_rows, open_store, close_store),
    };

    log_init("store", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
