#include "daemon/restore.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/run_claim.h"
#include "daemon/store/attempt.h"
#include "daemon/store/backup.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/extent.h"
#include "daemon/store/job.h"
#include "daemon/store/session.h"
#include "daemon/unarchive.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define UNKNOWN "the database was restored from an older copy, and the run directory has nothing of this job"

struct restoring {
    struct store *store;
    const char *run_dir;
    int64_t now_ms;
    struct job_row *jobs; /* under way when the backup was made */
    size_t n_jobs;
    struct attempt_row *attempts; /* of the job that is being looked at */
    size_t n_attempts;
};

static int keep_restored_job(void *arg, const struct job_row *row)
{
    struct restoring *r = arg;

    r->jobs = xrealloc(r->jobs, r->n_jobs + 1, sizeof *row);
    r->jobs[r->n_jobs++] = *row;
    return 0;
}

static int keep_restored_attempt(void *arg, const struct attempt_row *row)
{
    struct restoring *r = arg;

    r->attempts = xrealloc(r->attempts, r->n_attempts + 1, sizeof *row);
    r->attempts[r->n_attempts++] = *row;
    return 0;
}

static bool is_here(const struct restoring *r, const struct job_row *job)
{
    char *dir = xasprintf("%s/e%lld/jobs/%s", r->run_dir, (long long)job->ensemble, job->name);
    bool here = access(dir, F_OK) == 0;

    free(dir);
    return here;
}

static int lose_attempt(struct restoring *r, struct attempt_row *attempt, bool cancelled, struct error *err)
{
    struct member_row member;

    if (store_member_get(r->store, attempt->ensemble, attempt->index, &member, err) != 1)
        return error_set(err, "store_io", "member %lld.%lld has no row", (long long)attempt->ensemble,
                         (long long)attempt->index);
    attempt->end.outcome = ATTEMPT_LOST;
    attempt->end.exit_code = -1;
    attempt->end.ended_ms = r->now_ms;
    snprintf(attempt->end.reason, sizeof attempt->end.reason, "%s", UNKNOWN);
    member.state = cancelled ? MEMBER_CANCELLED : MEMBER_PENDING;
    member.not_before_ms = MEMBER_AT_ONCE;
    snprintf(member.reason, sizeof member.reason, "%s", UNKNOWN);
    if (store_attempt_update(r->store, attempt, err) < 0 || store_member_put(r->store, &member, err) < 0)
        return -1;
    return store_event_add(r->store, r->now_ms, "attempt.ended", attempt->ensemble, attempt->index,
                           json_pack("{s:I, s:s, s:s, s:s}", "attempt", (json_int_t)attempt->number, "outcome", "lost",
                                     "member", member_state_name(member.state), "reason", UNKNOWN),
                           err);
}

static int lose_job(struct restoring *r, struct job_row *job, struct error *err)
{
    struct ensemble_row ensemble;

    if (store_ensemble_get(r->store, job->ensemble, &ensemble, err) != 1)
        return error_set(err, "store_io", "job %s has no ensemble", job->name);
    r->n_attempts = 0;
    if (store_attempt_each_open(r->store, job->id, keep_restored_attempt, r, err) < 0)
        return -1;
    for (size_t i = 0; i < r->n_attempts; i++)
        if (lose_attempt(r, &r->attempts[i], ensemble_is_stopped(&ensemble), err) < 0)
            return -1;
    log_warn("job %s was under way when the copy was made, and the run directory does not have it: its members are "
             "pending again",
             job->name);
    job->state = JOB_ENDED;
    job->ended_ms = r->now_ms;
    snprintf(job->reason, sizeof job->reason, "%s", UNKNOWN);
    return store_job_update(r->store, job, err);
}

/* Moves the directory of a generation away that belongs to a job which the database does not know, and removes its
 * endpoints. A later generation of the same number would otherwise mistake the counters and the end in it for its
 * own. */
static int set_generation_aside(struct restoring *r, int64_t ensemble, const char *training, int64_t number,
                                struct error *err)
{
    char *dir = xasprintf("%s/g%" PRId64, training, number), *path = xasprintf("%s/training.json", dir);
    json_t *json = file_read_json(path, err);
    const char *job = json_string_value(json_object_get(json, "job"));
    int known = job != NULL ? store_job_known(r->store, ensemble, job, err) : 0;
    char *aside = xasprintf("%s.before-%s", dir, store_instance(r->store));
    int rc = known < 0 ? -1 : 0;

    if (known == 0 && rename(dir, aside) < 0)
        rc = error_errno(err, "store_io", "%s cannot be moved to %s", dir, aside);
    else if (known == 0)
        log_warn("%s is of a life of the database that is gone: it is now %s", dir, aside);
    for (int64_t rank = 0; known == 0 && rc == 0; rank++) {
        free(path);
        path = xasprintf("%s/stream/g%" PRId64 "-rank%" PRId64 ".json", training, number, rank);
        if (unlink(path) < 0)
            break;
    }
    json_decref(json);
    free(aside);
    free(path);
    free(dir);
    return rc;
}

static int set_aside_of(struct restoring *r, int64_t ensemble, struct error *err)
{
    char *training = xasprintf("%s/e%" PRId64 "/training", r->run_dir, ensemble);
    int64_t *numbers = NULL, number;
    DIR *dir = opendir(training);
    const struct dirent *entry;
    size_t n = 0;
    int rc = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char rest;

        if (sscanf(entry->d_name, "g%" SCNd64 "%c", &number, &rest) != 1)
            continue;
        numbers = xrealloc(numbers, n + 1, sizeof *numbers);
        numbers[n++] = number;
    }
    if (dir != NULL)
        closedir(dir);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = set_generation_aside(r, ensemble, training, numbers[i], err);
    free(numbers);
    free(training);
    return rc;
}

static int set_generations_aside(struct restoring *r, struct error *err)
{
    DIR *dir = opendir(r->run_dir);
    const struct dirent *entry;
    int64_t ensemble;
    int rc = 0;
    char rest;

    while (dir != NULL && rc == 0 && (entry = readdir(dir)) != NULL)
        if (sscanf(entry->d_name, "e%" SCNd64 "%c", &ensemble, &rest) == 1)
            rc = set_aside_of(r, ensemble, err);
    if (dir != NULL)
        closedir(dir);
    return rc;
}

static int take_over_runs(struct restoring *r, struct error *err)
{
    if (unarchive_for_restore(r->store, r->run_dir, err) < 0 ||
        store_job_each_live(r->store, keep_restored_job, r, err) < 0)
        return -1;
    for (size_t i = 0; i < r->n_jobs; i++)
        if (!is_here(r, &r->jobs[i]) && lose_job(r, &r->jobs[i], err) < 0)
            return -1;
    if (set_generations_aside(r, err) < 0 || store_session_end_all(r->store, err) < 0)
        return -1;
    return backup_adopt(r->store, err);
}

int restore_take_over(struct store *store, const char *run_dir, const char *rows_dir, int64_t now_ms, struct error *err)
{
    struct restoring r = {.store = store, .run_dir = run_dir, .now_ms = now_ms};
    struct error ignored;
    int rc = backup_is_copy(store, err);

    if (rc < 0 || (rc == 1 && (dir_make(rows_dir, err) < 0 || backup_restore_rows(store, rows_dir, err) < 0)))
        return -1;
    run_claim_drop(run_dir); /* the claim may be that of the database from which the copy was made */
    rc = take_over_runs(&r, err);
    if (rc < 0)
        store_doom(store, err);
    if (store_commit(store, rc < 0 ? &ignored : err) < 0)
        rc = -1;
    else
        store_empty_log(store); /* without its log, the database would be the copy again */
    free(r.jobs);
    free(r.attempts);
    return rc;
}
