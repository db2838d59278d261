#include "tests/unit/open_store.h"

#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[64], listed[512];
struct store *store;
struct error err;

int open_store(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(dir) == NULL || store_open(&store, dir, &err) < 0;
}

int reopen_store(void)
{
    store_close(store);
    return store_open(&store, dir, &err);
}

int close_store(void **state)
{
    char rm[128];

    for (sqlite3_stmt *stmt = sqlite3_next_stmt(store->db, NULL); stmt != NULL;
         stmt = sqlite3_next_stmt(store->db, stmt))
        if (sqlite3_stmt_busy(stmt))
            fail_msg("left in the middle: %s", sqlite3_sql(stmt));
    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

void must(int rc)
{
    if (rc < 0)
        fail_msg("%s", err.text);
}

void note(const char *fmt, ...)
{
    size_t n = strlen(listed);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(listed + n, sizeof listed - n, fmt, ap);
    va_end(ap);
}

void is_listed(const char *expected)
{
    assert_string_equal(listed, expected);
    listed[0] = '\0';
}

int64_t add_ensemble(int64_t count)
{
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = count, .width = 1, .created_ms = 1};

    must(store_ensemble_insert(store, &row, "{}", &err));
    return row.id;
}

struct job_row add_job(int64_t ensemble, const char *adapter)
{
    struct job_row job = {.ensemble = ensemble, .size = 1, .created_ms = 1};

    snprintf(job.adapter, sizeof job.adapter, "%s", adapter);
    must(store_job_insert(store, 0x3f9c2a71, &job, &err));
    return job;
}

struct attempt_row add_attempt(int64_t job, int64_t ensemble, int64_t index, int64_t number)
{
    struct attempt_row row = {.ensemble = ensemble, .index = index, .number = number, .job = job, .submitted_ms = 1};

    must(store_member_put(store, &(struct member_row){.ensemble = ensemble, .index = index, .attempts = number}, &err));
    must(store_attempt_insert(store, &row, &err));
    return row;
}
