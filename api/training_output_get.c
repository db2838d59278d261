#include "api/find.h"
#include "api/follow.h"
#include "api/handlers.h"
#include "api/output.h"
#include "common/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_generation_over(const struct request *r, int64_t generation)
{
    struct training_row row;
    struct error err;

    return store_training_get(request_store(r), request_id(r, 0), &row, &err) == 1 &&
           (training_is_over(&row) || row.generation != generation);
}

static void reply_training_output(struct request *r, const char *name)
{
    struct output_place place = {.path = NULL};
    struct training_row training;
    int64_t rank = 0, follow, from;
    int merged = 0;
    struct error err;
    char *dir;

    if (find_training(r, &training) < 0)
        return;
    if (request_query_int(r, "rank", 0, INT64_MAX, &rank, &err) < 0 || follow_query(r, &follow, &from, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (rank >= training.ranks) {
        request_reply_error(r, "output_not_found", "training %" PRId64 " has %" PRId64 " rank%s, from 0 on",
                            training.id, training.ranks, training.ranks == 1 ? "" : "s");
        return;
    }
    if (strcmp(name, "stderr") == 0 && (merged = find_merged(r, training.ensemble, true, &err)) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (merged) {
        request_reply_error(r, "output_merged",
                            "the standard error of the ranks of training %" PRId64
                            " is in their standard output, in the order of writes: training.output is \"merged\"",
                            training.id);
        return;
    }
    dir = engine_rank_dir(request_config(r)->engine, training.ensemble, training.generation, rank);
    place.path = xasprintf("%s/%s", dir, name);
    place.run_dir = xstrdup(engine_run_dir(request_config(r)->engine));
    free(dir);
    if (follow)
        follow_reply(r, place, NULL, from, is_generation_over, training.generation);
    else
        output_reply(r, place, NULL);
}

void training_stdout_get(struct request *r)
{
    reply_training_output(r, "stdout");
}

void training_stderr_get(struct request *r)
{
    reply_training_output(r, "stderr");
}
