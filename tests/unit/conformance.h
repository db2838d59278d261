/* The conformance suite of adapters: what every adapter that starts runners must do, with real runners, real tasks and
 * a real loop. test_adapter_conformance.c chooses the adapter and the tests that apply to it. */
#ifndef TESTS_CONFORMANCE_H
#define TESTS_CONFORMANCE_H
#include "tests/unit/adapter_harness.h"

extern const struct adapter_ops *ops;
extern struct harness h; /* opened and closed around each test */
extern char line[256];   /* a buffer for lines that tasks write */

/* Returns whether the file dir/name exists. */
bool is_there(const char *dir, const char *name);

/* Tests in conformance_runs.c. */
void a_job_runs_and_its_end_is_told(void **state);
void a_job_that_is_submitted_twice_runs_once(void **state);
void an_unknown_job_is_unknown(void **state);
void signals_reach_the_tasks(void **state);
void tasks_inherit_no_descriptor(void **state);
void a_runner_that_is_not_there_is_told(void **state);
void a_broken_descriptor_ends_the_job(void **state);

/* Tests in conformance_queue.c. */
void impossible_jobs_are_refused(void **state);
void a_queued_job_that_is_cancelled_never_starts(void **state);
void a_duplicate_job_is_told_and_withdrawn(void **state);
void a_thousand_queued_jobs_are_polled_by_one_call(void **state);
void slots_are_never_exceeded_and_all_used(void **state);
void a_big_job_does_not_starve(void **state);
void those_behind_a_cancelled_job_start(void **state);

/* Tests in conformance_ends.c. */
void a_running_job_is_cancelled_with_its_whole_tree(void **state);
void a_job_is_cancelled_while_it_starts(void **state);
void a_job_ends_at_its_walltime(void **state);
void a_runner_that_hangs_is_killed_with_its_tree(void **state);
void calls_under_way_are_answered_when_it_is_destroyed(void **state);

/* Tests in conformance_nudges.c. */
void a_runner_nudges_where_to_look(void **state);
void a_runner_that_is_watched_nudges_only_for_news(void **state);

#endif
