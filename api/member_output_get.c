#include "api/find.h"
#include "api/follow.h"
#include "api/handlers.h"
#include "api/output.h"
#include "daemon/store/attempt.h"

#include <inttypes.h>

struct search {
    int64_t number;
    bool ended, released;
};

static int compare(void *arg, const struct attempt_row *row)
{
    struct search *search = arg;

    if (row->number != search->number)
        return 0;
    search->ended = row->outcome != ATTEMPT_OPEN;
    search->released = row->released_ms != 0;
    return 1;
}

static bool is_over(const struct request *r, int64_t attempt)
{
    struct search search = {.number = attempt};
    struct error err;

    return store_attempt_each(request_store(r), request_id(r, 0), request_id(r, 1), compare, &search, &err) == 0 &&
           search.ended;
}

static void reply(struct request *r, const char *name)
{
    struct ensemble_row ensemble;
    struct member_row member;
    struct search search = {0};
    int64_t attempt, follow = 0, from = 0;
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
    search.number = attempt;
    if (store_attempt_each(request_store(r), ensemble.id, member.index, compare, &search, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (search.released) {
        request_reply_error(r, "output_released",
                            "the output of member %" PRId64 ".%" PRId64 " attempt %" PRId64
                            " was removed, as the daemon's setting keep_output says",
                            ensemble.id, member.index, attempt);
        return;
    }
    dir = engine_attempt_dir(request_config(r)->engine, ensemble.id, member.index, attempt);
    if (follow)
        follow_reply(r, dir, name, from, is_over, attempt);
    else
        output_reply(r, dir, name);
}

void member_stdout_get(struct request *r)
{
    reply(r, "stdout");
}

void member_stderr_get(struct request *r)
{
    reply(r, "stderr");
}
