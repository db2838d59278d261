/* The times at which the daemon looks for jobs that it may archive. Time is virtual here, and workers are held. */
#include "daemon/archive.h"
#include "daemon/store/archived.h"
#include "tests/unit/open_store.h"
#include "tests/unit/virtual_uv.h"

#include "common/log.h"

static void end_a_job(int64_t ensemble)
{
    struct job_row job = add_job(ensemble, "local");

    job.state = JOB_ENDED;
    job.ended_ms = 1;
    must(store_job_update(store, &job, &err));
}

void turn_after_commit(struct turn *turn, void (*cb)(void *arg, const struct error *err), void *arg)
{
    cb(arg, NULL);
}

/* An idle daemon looks every five seconds; where jobs are archived sooner after their end, twice as often as that. */
static void what_is_due_does_not_wait_long(void **state)
{
    static const struct {
        int64_t after_ms;
        uint64_t rest_ms;
    } cases[] = {{3600000, 5000}, {10000, 5000}, {1000, 500}, {0, 100}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct archive *archive;
        int64_t ensemble;

        assert_int_equal(open_store(state), 0);
        virtual_uv_begin(1000);
        virtual_uv_hold_workers();
        archive = archive_create(NULL, store, NULL, "/nowhere", cases[i].after_ms);
        ensemble = add_ensemble(1);
        end_a_job(ensemble);
        virtual_uv_go_on(cases[i].rest_ms - 1);
        assert_false(archive_is_busy(archive, ensemble));
        virtual_uv_go_on(1);
        assert_true(archive_is_busy(archive, ensemble));
        virtual_uv_let_workers_go();
        assert_false(archive_is_busy(archive, ensemble));
        archive_destroy(archive);
        must(store_commit(store, &err));
        close_store(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_due_does_not_wait_long),
    };

    log_init("archive", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
