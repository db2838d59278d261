/* fill_members DIR COUNT DONE [FAILED [COMMAND]]: a state directory with a paused ensemble of COUNT members, of which DONE have run to their
 * end, and one of FAILED has failed: the rows that the engine writes for each of them, through the store, but without running anything.
 * COMMAND, one word, is what the others would run. */
#include "common/log.h"
#include "daemon/store/attempt.h"
#include "daemon/store/cause.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMIT_EVERY 256

static struct store *store;
static struct error err;

static void must(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "fill_members: %s\n", err.text);
    exit(1);
}

/* Writes the same rows as engine/dispatch.c, job.c and outcome.c, in their order. */
static void run_member(int64_t ensemble, int64_t index, int64_t now, bool fails)
{
    struct job_row job = {.ensemble = ensemble, .adapter = "local", .size = 1, .created_ms = now};
    struct member_row member = {.ensemble = ensemble, .index = index, .state = MEMBER_SUBMITTED, .attempts = 1};
    struct attempt_row attempt = {.ensemble = ensemble, .index = index, .number = 1, .submitted_ms = now, .exit_code = -1};

    must(store_job_insert(store, 0x3f9c2a71, &job, &err));
    attempt.job = job.id;
    must(store_member_put(store, &member, &err));
    must(store_attempt_insert(store, &attempt, &err));
    must(store_event_add(store, now, "member.submitted", ensemble, index,
                         json_pack("{s:I, s:s}", "attempt", (json_int_t)1, "job", job.name), &err));
    job.state = JOB_SUBMITTED;
    job.submissions = 1;
    job.submitted_ms = now + 3;
    snprintf(job.scheduler_id, sizeof job.scheduler_id, "local:%d:%lld", 10000 + (int)(index % 50000), (long long)index + 710000);
    must(store_job_update(store, &job, &err));
    job.state = JOB_RUNNING;
    job.started_ms = now + 5;
    must(store_job_update(store, &job, &err));
    member.state = MEMBER_RUNNING;
    attempt.started_ms = now + 5;
    strcpy(attempt.host, "n1234.cluster");
    must(store_attempt_update(store, &attempt, &err));
    must(store_member_put(store, &member, &err));
    must(store_event_add(store, now + 5, "member.running", ensemble, index, json_pack("{s:I}", "attempt", (json_int_t)1), &err));
    attempt.outcome = fails ? ATTEMPT_FAILED : ATTEMPT_SUCCEEDED;
    attempt.exit_code = fails;
    strcpy(attempt.reason, fails ? "exit status 1" : "");
    memcpy(member.reason, attempt.reason, sizeof member.reason);
    attempt.ended_ms = now + 900;
    member.state = fails ? MEMBER_FAILED : MEMBER_SUCCEEDED;
    must(store_attempt_update(store, &attempt, &err));
    must(store_member_put(store, &member, &err));
    must(store_event_add(store, now + 900, "attempt.ended", ensemble, index,
                         json_pack("{s:I, s:s, s:s, s:s}", "attempt", (json_int_t)1, "outcome", attempt_outcome_name(attempt.outcome), "member",
                                   member_state_name(member.state), "reason", attempt.reason), &err));
    if (fails)
        must(store_cause_count(store, &attempt, &err));
    job.state = JOB_ENDED;
    job.ended_ms = now + 910;
    must(store_job_update(store, &job, &err));
}

int main(int argc, char **argv)
{
    struct ensemble_row row = {.name = "million", .state = ENSEMBLE_PAUSED, .adapter = "local", .stream_key = "0123456789abcdef",
                               .width = 8};
    int64_t done, failed, now = INT64_C(1790000000000);
    char spec[400];

    if (argc < 4) {
        fputs("usage: fill_members DIR COUNT DONE [FAILED [COMMAND]]\n", stderr);
        return 2;
    }
    log_init("fill_members", LOG_LEVEL_WARN);
    row.count = atoll(argv[2]);
    row.next_index = done = atoll(argv[3]);
    failed = argc > 4 ? atoll(argv[4]) : INT64_MAX;
    row.created_ms = now;
    snprintf(spec, sizeof spec, "{\"name\": \"million\", \"width\": 8, \"members\": {\"command\": [\"%s\"], \"parameters\": "
                                "{\"method\": \"latin-hypercube\", \"count\": %lld, \"seed\": 42, \"space\": {\"t0\": [100, 500], "
                                "\"tw\": [100, 500]}}}}", argc > 5 ? argv[5] : "true", (long long)row.count);
    must(store_open(&store, argv[1], &err));
    must(store_ensemble_insert(store, &row, spec, &err));
    for (int64_t i = 0; i < done; i++) {
        run_member(row.id, i, now += 2, i % failed == failed - 1);
        if (i % COMMIT_EVERY == 0)
            must(store_commit(store, &err));
    }
    must(store_commit(store, &err));
    store_close(store);
    return 0;
}
