#include "tests/unit/failing_store.h"

#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define EACH 60 /* so many steps are failed one by one, and then fewer and fewer of them */

static int64_t steps, fails_at; /* 0: none */

int sqlite3_step(sqlite3_stmt *stmt)
{
    static int (*step)(sqlite3_stmt *stmt);

    if (step == NULL)
        *(void **)&step = dlsym(RTLD_NEXT, "sqlite3_step");
    return ++steps == fails_at ? SQLITE_IOERR : step(stmt);
}

static char *answer(void (*handler)(struct request *r), const struct asked *asked, int64_t fail, int *status)
{
    const json_t *json;

    steps = 0;
    fails_at = fail;
    json = ask(handler, asked, status);
    fails_at = 0;
    return json_dumps(json, JSON_SORT_KEYS | JSON_ENCODE_ANY);
}

void is_told_that_the_store_fails(void (*handler)(struct request *r), const struct asked *asked)
{
    int wanted_status, status;
    char *wanted = answer(handler, asked, 0, &wanted_status);
    struct error why;
    int64_t all = steps;

    assert_int_equal(store_commit(fake_config.store, &why), 0);
    for (int64_t n = 1; n <= all; n += n < EACH ? 1 : n / 10) {
        char *got = answer(handler, asked, n, &status);
        bool same = status == wanted_status && strcmp(got, wanted) == 0;

        if (!same && (status < 500 || strstr(got, "\"code\": \"store_") == NULL))
            fail_msg("step %lld of %lld fails: %d, %s", (long long)n, (long long)all, status, got);
        free(got);
        store_commit(fake_config.store, &why); /* undoes what has failed */
    }
    free(answer(handler, asked, 0, &status)); /* whose headers the test may look at */
    free(wanted);
}

void is_told_that_nothing_was_done(void (*handler)(struct request *r), const struct asked *asked)
{
    struct error why;
    int status = 500;

    assert_int_equal(store_commit(fake_config.store, &why), 0);
    for (int64_t n = 1; status >= 500; n++) {
        char *got = answer(handler, asked, n, &status);

        if (status >= 300 && strstr(got, "\"code\": \"store_") == NULL)
            fail_msg("step %lld fails: %d, %s", (long long)n, status, got);
        if (status < 300 && steps >= n)
            fail_msg("step %lld of %lld fails, and nobody tells: %s", (long long)n, (long long)steps, got);
        free(got);
        if (store_commit(fake_config.store, &why) < 0 && status < 500) /* which undoes what has failed */
            fail_msg("%s", why.text);
    }
}
