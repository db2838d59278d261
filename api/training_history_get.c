/* Sends the history of a training: counters of all its ranks together over time, thinned to about as many moments as
 * the client asks for. */
#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"
#include "daemon/store/moment.h"

struct history {
    json_t *moments;
    int64_t wanted, first_ms, last_ms; /* number of moments that the client wants; times of the first and last moment */
    struct moment_row told;            /* the moment that was added last */
};

static json_t *moment_json(const struct moment_row *row)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "time",
                     value_time(row->time_ms), "generation", (json_int_t)row->generation, "ranks",
                     (json_int_t)row->ranks, "received", (json_int_t)row->received, "unique", (json_int_t)row->unique,
                     "drawn", (json_int_t)row->drawn, "repeats", (json_int_t)row->repeats, "batches",
                     (json_int_t)row->batches, "population", (json_int_t)row->population, "unseen",
                     (json_int_t)row->unseen, "capacity", (json_int_t)row->capacity, "room_wait_seconds",
                     value_real(row->room_wait), "sample_wait_seconds", value_real(row->sample_wait));
}

/* Adds a moment, or leaves it out. The very last one and the first of each generation are always added. */
static int add_moment(void *arg, const struct moment_row *row)
{
    struct history *history = arg;
    int64_t apart = (history->last_ms - history->first_ms) / history->wanted;

    if (json_array_size(history->moments) > 0 && row->time_ms < history->told.time_ms + apart &&
        row->time_ms < history->last_ms && row->generation == history->told.generation)
        return 0;
    history->told = *row;
    json_array_append_new(history->moments, moment_json(row));
    return 0;
}

static int first(void *arg, const struct moment_row *row)
{
    struct history *history = arg;

    history->first_ms = row->time_ms;
    return 1;
}

void training_history_get(struct request *r)
{
    struct history history = {.wanted = 500};
    struct training_row training;
    struct moment_row last;
    struct error err;

    if (find_training(r, &training) < 0)
        return;
    history.moments = json_array();
    if (request_query_int(r, "moments", 1, 10000, &history.wanted, &err) < 0 ||
        store_moment_each(request_store(r), training.id, first, &history, &err) < 0 ||
        store_moment_last(request_store(r), training.id, &last, &err) < 0) {
        json_decref(history.moments);
        request_reply_problem(r, &err);
        return;
    }
    history.last_ms = history.first_ms != 0 ? last.time_ms : 0;
    if (store_moment_each(request_store(r), training.id, add_moment, &history, &err) < 0) {
        json_decref(history.moments);
        request_reply_problem(r, &err);
        return;
    }
    request_reply_json(r, 200,
                       json_pack("{s:I, s:o}", "training", (json_int_t)training.id, "moments", history.moments));
}
