#include "api/find.h"
#include "api/handlers.h"
#include "api/output.h"

#include <inttypes.h>

static void reply(struct request *r, const char *name)
{
    struct ensemble_row ensemble;
    struct member_row member;
    int64_t attempt;
    struct error err;

    if (find_member(r, &ensemble, &member) < 0)
        return;
    attempt = member.attempts;
    if (request_query_int(r, "attempt", 1, INT64_MAX, &attempt, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (attempt == 0 || attempt > member.attempts) {
        request_reply_error(r, "output_not_found", "member %" PRId64 ".%" PRId64 " has had %" PRId64 " attempt%s",
                            ensemble.id, member.index, member.attempts, member.attempts == 1 ? "" : "s");
        return;
    }
    output_reply(r, engine_attempt_dir(request_config(r)->engine, ensemble.id, member.index, attempt), name);
}

void member_stdout_get(struct request *r)
{
    reply(r, "stdout");
}

void member_stderr_get(struct request *r)
{
    reply(r, "stderr");
}
