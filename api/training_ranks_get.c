/* Sends what the ranks of a training report in their own files (docs/run-directory.md). The files are read only when a
 * client asks, so that the database need not store them. They are written by a program and may hold anything: only
 * known keys with values of the right type are passed on. */
#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/rundir/rundir.h"

#include <stdlib.h>
#include <string.h>

struct ranks_reply {
    struct request *r;
    int64_t training, ranks;
};

static const char *const states[] = {"waiting", "receiving", "draining", "done"};
static const char *const counts[] = {"received", "unique",   "duplicates", "rejected",     "drawn",
                                     "repeats",  "batches",  "bytes",      "memory_bytes", "population",
                                     "unseen",   "capacity", "finalized",  "skipped"};
static const char *const reals[] = {"samples_per_second", "room_wait_seconds", "sample_wait_seconds"};

static bool is_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static json_t *rank_state_json(const json_t *status)
{
    const char *state = json_string_value(json_object_get(status, "state"));

    for (size_t i = 0; state != NULL && i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i], state) == 0)
            return json_string(state);
    return json_null();
}

static json_t *rank_time_json(const json_t *status)
{
    return value_time(time_ms_of(json_number_value(json_object_get(status, "time"))));
}

/* Returns how often samples were drawn, a count for each bin, or the refused frames, a count for each fault. */
static json_t *bins_of(const json_t *status)
{
    const json_t *draws = json_object_get(status, "draws"), *n;
    json_t *bins = json_array();
    size_t i;

    json_array_foreach (draws, i, n)
        json_array_append_new(bins, json_integer(is_count(n) ? json_integer_value(n) : 0));
    return bins;
}

static json_t *faults_of(const json_t *status)
{
    json_t *by = json_object_get(status, "rejected_by"), *faults = json_object(), *n;
    const char *name;

    json_object_foreach (by, name, n)
        if (is_count(n))
            json_object_set(faults, name, n);
    return faults;
}

static json_t *rank_json(int64_t rank, json_t **files)
{
    const json_t *status = files[RANK_FILE_DONE] != NULL ? files[RANK_FILE_DONE] : files[RANK_FILE_STATUS];
    json_t *json = json_object();

    json_object_set_new(json, "rank", json_integer(rank));
    json_object_set_new(json, "ready", json_boolean(files[RANK_FILE_ENDPOINT] != NULL));
    json_object_set_new(json, "host",
                        value_text_or_null(json_string_value(json_object_get(files[RANK_FILE_ENDPOINT], "host"))));
    json_object_set_new(json, "state", rank_state_json(status));
    json_object_set_new(json, "time", rank_time_json(status));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const json_t *value = json_object_get(status, counts[i]);

        json_object_set_new(json, counts[i], json_integer(is_count(value) ? json_integer_value(value) : 0));
    }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        json_object_set_new(json, reals[i], value_real(json_number_value(json_object_get(status, reals[i]))));
    json_object_set_new(json, "draws", bins_of(status));
    json_object_set_new(json, "rejected_by", faults_of(status));
    return json;
}

static void rank_files_read(void *arg, json_t **json, const struct error *failed)
{
    struct ranks_reply *asking = arg;
    struct request *r = asking->r;
    json_t *ranks;

    if (failed != NULL) {
        request_reply_error(r, "output_unreadable", "%s", failed->text);
    } else {
        ranks = json_array();
        for (int64_t rank = 0; rank < asking->ranks; rank++)
            json_array_append_new(ranks, rank_json(rank, json + rank * RANK_FILES));
        request_reply_json(r, 200, json_pack("{s:I, s:o}", "training", (json_int_t)asking->training, "ranks", ranks));
    }
    free(asking);
}

void training_ranks_get(struct request *r)
{
    struct training_row training;
    struct ranks_reply *asking;
    char **paths;
    size_t n;

    if (find_training(r, &training) < 0)
        return;
    asking = xcalloc(1, sizeof *asking);
    *asking = (struct ranks_reply){.r = r, .training = training.id, .ranks = training.ranks};
    n = RANK_FILES * (size_t)training.ranks;
    paths = xcalloc(n, sizeof *paths);
    for (int64_t rank = 0; rank < training.ranks; rank++)
        engine_rank_files(request_config(r)->engine, &training, rank, paths + rank * RANK_FILES);
    request_hold(r);
    rundir_ops.read(request_config(r)->loop, paths, n, rank_files_read, asking);
}
