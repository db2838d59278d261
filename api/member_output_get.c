#include "api/find.h"
#include "api/follow.h"
#include "api/handlers.h"
#include "api/output.h"
#include "common/xalloc.h"
#include "daemon/store/attempt.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_attempt_over(const struct request *r, int64_t attempt)
{
    struct attempt_row row;
    struct error err;

    return store_attempt_get(request_store(r), request_id(r, 0), request_id(r, 1), attempt, &row, &err) == 1 &&
           row.end.outcome != ATTEMPT_OPEN;
}

static void fill_in_archive(const struct request *r, struct output_place *place, const struct attempt_row *row)
{
    if (row->archive == 0)
        return;
    place->archive = archive_path(engine_run_dir(request_config(r)->engine), row->ensemble,
                                  (enum archive_kind)row->archive_kind, row->archive);
    place->at = row->archive_at;
}

static void find_archive(const struct request *r, struct output_place *place)
{
    struct attempt_row row;
    struct error err;

    if (store_attempt_get(request_store(r), request_id(r, 0), place->index, place->attempt, &row, &err) == 1)
        fill_in_archive(r, place, &row);
}

static void reply_member_output(struct request *r, enum archive_part part, const char *name)
{
    struct output_place place = {.part = part};
    struct ensemble_row ensemble;
    struct member_row member;
    struct attempt_row row = {.archive = 0};
    int64_t attempt, follow = 0, from = 0;
    int merged = 0;
    struct error err;
    char *dir;

    if (find_member(r, &ensemble, &member) < 0)
        return;
    attempt = member.attempts;
    if (request_query_int(r, "attempt", 1, INT64_MAX, &attempt, &err) < 0 ||
        follow_query(r, &follow, &from, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (attempt == 0 || attempt > member.attempts) {
        request_reply_error(r, "output_not_found", "member %" PRId64 ".%" PRId64 " has had %" PRId64 " attempt%s",
                            ensemble.id, member.index, member.attempts, member.attempts == 1 ? "" : "s");
        return;
    }
    if (store_attempt_get(request_store(r), ensemble.id, member.index, attempt, &row, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (row.released_ms != 0) {
        request_reply_error(r, "output_released",
                            "the output of member %" PRId64 ".%" PRId64 " attempt %" PRId64
                            " was removed, as the daemon's setting keep_output says",
                            ensemble.id, member.index, attempt);
        return;
    }
    if (part == ARCHIVE_STDERR && (merged = find_merged(r, ensemble.id, false, &err)) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (merged) {
        request_reply_error(r, "output_merged",
                            "the standard error of member %" PRId64 ".%" PRId64
                            " is in its standard output, in the order of writes: members.output is \"merged\"",
                            ensemble.id, member.index);
        return;
    }
    dir = engine_attempt_dir(request_config(r)->engine, ensemble.id, member.index, attempt);
    place.path = xasprintf("%s/%s", dir, name);
    place.run_dir = xstrdup(engine_run_dir(request_config(r)->engine));
    free(dir);
    place.index = member.index;
    place.attempt = attempt;
    fill_in_archive(r, &place, &row);
    if (follow)
        follow_reply(r, place, find_archive, from, is_attempt_over, attempt);
    else
        output_reply(r, place, find_archive);
}

void member_stdout_get(struct request *r)
{
    reply_member_output(r, ARCHIVE_STDOUT, "stdout");
}

void member_stderr_get(struct request *r)
{
    reply_member_output(r, ARCHIVE_STDERR, "stderr");
}
