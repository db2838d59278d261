/* Ends of jobs of the ALPS adapter, whose aprun is a script here: by force, for want of room, or with a node. */
#include "scheduler-adapters/alps.h"
#include "tests/unit/alps_site.h"

#include <string.h>

/* The adapter can only kill aprun while it does not know the application's number. */
static void an_aprun_without_an_application_is_killed_alone(void **state)
{
    struct alps_job *job;

    begin("3", "echo x >>began; trap '' TERM; while :; do pause; done");
    submit(site_job(&one), 1);
    TEST_UNTIL(site_count_asked("aprun") > 0, uv_run(&site.loop, UV_RUN_NOWAIT));
    order(site_cancel, 1);
    job = alps_job_find(site.a, "st-0-1");
    job->kill_at = uv_now(&site.loop);
    alps_turn(site.a);
    assert_string_equal(until(1, ADAPTER_JOB_ENDED).reason, "cancelled before it started");
    assert_int_equal(site_count_asked("apkill"), 0);
}

static void what_has_ended_is_forgotten_in_time(void **state)
{
    struct alps_job *job;

    begin("3", ENDED_WELL);
    submit(site_job(&one), 1);
    until(1, ADAPTER_JOB_ENDED);
    alps_turn(site.a);
    job = alps_job_find(site.a, "st-0-1");
    assert_non_null(job);
    site.loop.time += 3600 * 1000; /* until the loop looks at the clock again */
    alps_turn(site.a);
    assert_null(alps_job_find(site.a, "st-0-1"));
    assert_int_equal(site_status(1, NULL).state, ADAPTER_JOB_ENDED); /* by its files */
}

/* A job for which ALPS has no room waits, unless it is cancelled or has begun before. */
static void what_found_no_room_waits_unless_it_is_over(void **state)
{
    bool has_begun = *state != NULL;

    json_object_set_new(site.config, "pause", json_string("1h"));
    begin("3,5",
          has_begun
              ? "for d in st-0-*; do echo '{}' >$d/claim.json; done; echo \"" NO_NODES "\"; exit 1"
              : "no() { echo \"" NO_NODES
                "\"; exit 1; }; trap no TERM; for d in st-0-*; do echo 46 >$d/apid; done; while :; do pause; done");
    site.a->pause_ms = 3600 * 1000;
    submit(site_job(&one), 1);
    if (has_begun) {
        assert_non_null(strstr(until(1, ADAPTER_JOB_ENDED).reason, "ALPS: " NO_NODES));
        assert_true(site.a->node[0].not_before > uv_now(&site.loop)); /* ALPS does not give it for now */
    } else {
        until(1, ADAPTER_JOB_RUNNING);
        order(site_cancel, 1);
        assert_string_equal(until(1, ADAPTER_JOB_ENDED).reason, "cancelled before it started");
    }
    assert_null(site.a->node[0].job);
    assert_int_equal(site.a->node[1].not_before, 0);
    assert_int_equal(site_count_asked("aprun"), 1);
}

/* Between two tries there is a pause, which grows. */
static void a_node_that_is_refused_is_asked_for_again_later(void **state)
{
    struct alps_job *job;

    begin("3,5", "echo \"" NO_NODES "\"; exit 1");
    site.a->pause_ms = 7000;
    submit(site_job(&one), 1);
    TEST_UNTIL(strstr(site_status(1, NULL).reason, NO_NODES) != NULL, uv_run(&site.loop, UV_RUN_NOWAIT));
    job = alps_job_find(site.a, "st-0-1");
    assert_int_equal(site.a->node[0].wait_ms, 7000);
    assert_true(site.a->node[0].not_before > 0);
    assert_true(site.a->next_start > 0);
    assert_false(job->placed);
    for (size_t i = 0; i < 5; i++) {
        static const uint64_t pauses[] = {14000, 28000, 56000, 60000, 60000};

        site.a->node[0].job = job;
        alps_nodes_leave(job, true);
        assert_int_equal(site.a->node[0].wait_ms, pauses[i]);
        assert_int_equal(site.a->node[0].not_before, uv_now(&site.loop) + pauses[i]);
    }
    assert_null(site.a->node[1].job);
    site.a->node[0].job = job;
    alps_nodes_leave(job, false);
    assert_int_equal(site.a->node[0].wait_ms, 0);
    assert_int_equal(site.a->node[0].not_before, 0);
    site.a->node[1].job = job;
    alps_nodes_lost(site.a, 3);
    alps_nodes_lost(site.a, 5); /* somebody has it, and is told of by himself */
    assert_int_equal(site.a->node[0].wait_ms, 60000);
    assert_int_equal(site.a->node[0].not_before, uv_now(&site.loop) + 60000);
    assert_int_equal(site.a->node[1].wait_ms, 0);
    alps_nodes_leave(job, false);
}

/* The jobs ended while no daemon was there. */
static void a_lost_node_of_an_earlier_daemon_is_left_alone(void **state)
{
    const struct site_known jobs[] = {{1, NULL, 1}, {2, NULL, 1}, {3, NULL, 1}};
    struct adapter_job job = site_job(&one);
    struct told told;
    char path[160];
    struct error err;

    begin("3-4", ENDED_WELL);
    for (int i = 1; i <= 3; i++) {
        snprintf(path, sizeof path, "%s/st-0-%d", site.dir, i);
        assert_int_equal(dir_make(path, &err), 0);
    }
    site_put("st-0-1/aprun", "3\n999999999 (sh) S 1\n", 0600);
    site_put("st-0-1/aprun.log", "Apid 46 killed. Received node failed or halted event for nid 3\n", 0600);
    site_put("st-0-2/aprun", "4\n999999999 (sh) S 1\n", 0600); /* it found no room, and never began */
    site_put("st-0-2/aprun.log", NO_NODES "\n", 0600);
    site_poll(jobs, 3, &told);
    site_until(&told, 1);
    assert_int_equal(told.statuses[0].state, ADAPTER_JOB_ENDED);
    assert_true(told.statuses[0].node_lost);
    assert_string_equal(told.statuses[0].host, "nid00003");
    assert_non_null(strstr(told.statuses[0].reason, "ALPS: Apid 46 killed"));
    assert_int_equal(told.statuses[1].state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(told.statuses[2].state, ADAPTER_JOB_UNKNOWN);
    site_put("st-0-2/ended.json", "{}", 0600);
    assert_int_equal(site_status(2, NULL).state, ADAPTER_JOB_ENDED);
    site_submit_ok(job, 3);
    assert_string_equal(until(3, ADAPTER_JOB_ENDED).host, "nid00004");
}

static void without_a_runner_nothing_is_submitted(void **state)
{
    struct told told;

    site.runner = "/nonexistent/stretto-run";
    begin("3", ENDED_WELL);
    site_submit(site_job(&one), 1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_REFUSED);
    assert_string_equal(told.code, "job_refused");
    site.runner = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_aprun_without_an_application_is_killed_alone),
        CASE(what_has_ended_is_forgotten_in_time),
        {"what_has_begun_does_not_wait_for_room", what_found_no_room_waits_unless_it_is_over, site_open, site_close,
         "begun"},
        {"what_is_cancelled_does_not_wait_for_room", what_found_no_room_waits_unless_it_is_over, site_open, site_close,
         NULL},
        CASE(a_node_that_is_refused_is_asked_for_again_later),
        CASE(a_lost_node_of_an_earlier_daemon_is_left_alone),
        CASE(without_a_runner_nothing_is_submitted),
    };

    return SITE_RUN(tests);
}
