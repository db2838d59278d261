#include "daemon/engine/trainings/moments.h"

#include "daemon/engine/engine.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/store/moment.h"

#include <math.h>

#define LEAST_MS 1000
#define PER_AGE 250

/* The files are a program's: what cannot be counts for nothing. */
static int64_t status_count(const json_t *status, const char *key)
{
    int64_t n = json_integer_value(json_object_get(status, key));

    return n > 0 && n < INT64_C(1) << 52 ? n : 0;
}

static double status_seconds(const json_t *status, const char *key)
{
    double s = json_number_value(json_object_get(status, key));

    return isfinite(s) && s > 0 ? s : 0;
}

static void moment_add(struct moment_row *sum, const json_t *status)
{
    sum->ranks++;
    sum->received += status_count(status, "received");
    sum->unique += status_count(status, "unique");
    sum->drawn += status_count(status, "drawn");
    sum->repeats += status_count(status, "repeats");
    sum->batches += status_count(status, "batches");
    sum->population += status_count(status, "population");
    sum->unseen += status_count(status, "unseen");
    sum->capacity += status_count(status, "capacity");
    sum->room_wait += status_seconds(status, "room_wait_seconds");
    sum->sample_wait += status_seconds(status, "sample_wait_seconds");
}

static bool is_due(const struct training_row *training, const struct moment_row *now, const struct moment_row *last,
                   bool over)
{
    int64_t age = now->time_ms - training->created_ms;

    if (now->time_ms <= last->time_ms)
        return false;
    if (over || now->generation != last->generation)
        return now->received != last->received || now->batches != last->batches || now->generation != last->generation;
    return now->time_ms - last->time_ms >= (age / PER_AGE > LEAST_MS ? age / PER_AGE : LEAST_MS);
}

void moments_take(struct engine *engine, const struct training_row *training, json_t *const *json)
{
    struct moment_row now = {.time_ms = engine_now(engine), .generation = training->generation}, last;
    bool over = true;
    struct error err;
    int rc;

    for (int64_t rank = 0; rank < training->ranks; rank++) {
        const json_t *done = json[rank * RANK_FILES + RANK_FILE_DONE],
                     *status = json[rank * RANK_FILES + RANK_FILE_STATUS];

        over = over && done != NULL;
        if (done != NULL || status != NULL)
            moment_add(&now, done != NULL ? done : status);
    }
    if (now.ranks == 0)
        return;
    rc = store_moment_last(engine->store, training->id, &last, &err);
    if (rc < 0)
        store_doom(engine->store, &err);
    else if (rc == 0 || is_due(training, &now, &last, over))
        store_moment_put(engine->store, training->id, &now, &err);
}
