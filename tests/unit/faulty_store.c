#include "tests/unit/faulty_store.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct fault faults[FAULTS] = {
    {"an I/O error", FAULT_IO, 1},          {"I/O errors for good", FAULT_IO, INT64_MAX},
    {"a full disk, once", FAULT_FULL, 1},   {"a full disk", FAULT_FULL, INT64_MAX},
    {"a torn write", FAULT_TORN, 1},        {"torn writes for good", FAULT_TORN, INT64_MAX},
    {"no memory, once", FAULT_MALLOC, 1},   {"no memory", FAULT_MALLOC, INT64_MAX},
    {"a power cut", FAULT_POWER, 1},
};

char dir[64], path[96];
char place[256];

int faulty_new_dir(void **state)
{
    snprintf(dir, sizeof dir, "%s/stretto-faults-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/stretto.db", dir);
    return 0;
}

void faulty_clear_dir(void)
{
    static const char *const names[] = {"stretto.db", "stretto.db-wal", "stretto.db-shm", "stretto.db-journal", "lock",
                                        "stretto.db.v1", "stretto.db.v1-journal", "stretto.db.v4", "stretto.db.v4-journal"};
    char name[128];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(name, sizeof name, "%s/%s", dir, names[i]);
        unlink(name);
    }
}

int faulty_remove_dir(void **state)
{
    char command[128];

    faultfs_forget();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

sqlite3 *look(const char *file)
{
    sqlite3 *db;

    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, "unix") != SQLITE_OK)
        fail_msg("%s: %s", file, sqlite3_errmsg(db));
    return db;
}

char *text_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    char *text = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK || sqlite3_step(stmt) != SQLITE_ROW)
        fail_msg("%s: %s: %s", place, sql, sqlite3_errmsg(db));
    if (sqlite3_column_text(stmt, 0) != NULL)
        text = xstrdup((const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return text;
}

int64_t number_of(sqlite3 *db, const char *sql)
{
    char *text = text_of(db, sql);
    int64_t n = text ? strtoll(text, NULL, 10) : 0;

    free(text);
    return n;
}

void is_whole(sqlite3 *db)
{
    char *said = text_of(db, "SELECT group_concat(integrity_check) FROM pragma_integrity_check");

    MUST(strcmp(said, "ok") == 0, "%s", said);
    free(said);
    MUST(number_of(db, "SELECT count(*) FROM pragma_foreign_key_check") == 0, "references are broken");
}

void write_file(const char *from, const char *to)
{
    char buffer[65536];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;

    assert_true(in != NULL && out != NULL);
    while ((n = fread(buffer, 1, sizeof buffer, in)) > 0)
        assert_int_equal(fwrite(buffer, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

int64_t after(int64_t n, int64_t few)
{
    const char *every = getenv("FAULT_EVERY");

    return every != NULL || n < few ? n + 1 : n + 1 + n / few;
}
