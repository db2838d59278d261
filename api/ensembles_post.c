#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "api/idempotency.h"
#include "api/parameter_file.h"
#include "common/xalloc.h"

#include <stdlib.h>

#define CALL "POST /v1/ensembles"

/* A submission between the end of its request and its answer. A file of parameters may be read meanwhile. */
struct submission {
    struct request *r;
    json_t *spec;
    struct idempotency key;
};

static void submission_free(struct submission *s)
{
    json_decref(s->spec);
    free(s);
}

/* Submits and answers. Returns whether the spec is accepted, if the turn is committed. Takes rows over. */
static bool submit_spec(const struct submission *s, struct rows *rows)
{
    struct request *r = s->r;
    struct ensemble_row row;
    struct error err;

    if (engine_submit(request_config(r)->engine, s->spec, rows, &row, &err) < 0) {
        request_reply_problem(r, &err);
        return false;
    }
    ensemble_reply_new(r, &s->key, 201, &row);
    return true;
}

/* Called on the loop when the file is copied or refused. The Idempotency-Key may have been used while it was read. */
static void have_rows(void *arg, struct parameter_file *file, struct rows *rows, const struct error *err)
{
    struct submission *s = arg;

    if (request_is_abandoned(s->r)) {
        request_reply_error(s->r, "not_ready", "nobody waits for this answer");
        rows_close(rows);
        parameter_file_drop(file);
    } else if (rows == NULL) {
        request_reply_problem(s->r, err);
        parameter_file_drop(file);
    } else if (idempotency_answered(s->r, CALL, &s->key, ensemble_add_location)) {
        rows_close(rows);
        parameter_file_drop(file);
    } else {
        struct turn *turn = request_config(s->r)->turn;

        if (submit_spec(s, rows))
            parameter_file_keep_if_committed(file, turn);
        else
            parameter_file_drop(file);
    }
    submission_free(s);
}

static void begin_submission(struct submission *s)
{
    const char *path;
    struct error err;

    if (!json_is_object(s->spec)) {
        error_at(&err, "spec_wrong_type", "", "a spec is an object");
        request_reply_problem(s->r, &err);
        submission_free(s);
        return;
    }
    switch (spec_parameter_file(s->spec, &path, &err)) {
    case 1:
        if (parameter_file_read(s->r, path, have_rows, s, &err) == 0)
            return;
        request_reply_problem(s->r, &err);
        break;
    case 0: submit_spec(s, NULL); break;
    default: request_reply_problem(s->r, &err); break;
    }
    submission_free(s);
}

void ensembles_post(struct request *r)
{
    struct submission *s;
    struct idempotency key;
    json_t *spec;

    if (idempotency_answered(r, CALL, &key, ensemble_add_location))
        return;
    spec = request_json(r);
    if (spec == NULL)
        return;
    s = xcalloc(1, sizeof *s);
    *s = (struct submission){r, spec, key};
    begin_submission(s);
}
