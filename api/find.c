#include "api/find.h"

#include <inttypes.h>
#include <math.h>

int find_ensemble(struct request *r, struct ensemble_row *row)
{
    struct error err;
    int rc = store_ensemble_get(request_store(r), request_id(r, 0), row, &err);

    if (rc > 0)
        return 0;
    if (rc < 0)
        request_reply_problem(r, &err);
    else
        request_reply_error(r, "ensemble_not_found", "there is no ensemble %" PRId64, request_id(r, 0));
    return -1;
}

int find_named_ensemble(struct request *r, int64_t id, struct ensemble_row *row, struct error *err)
{
    int rc = store_ensemble_get(request_store(r), id, row, err);

    return rc == 0 ? error_set(err, "ensemble_not_found", "there is no ensemble %" PRId64, id) : rc < 0 ? -1 : 0;
}

int64_t find_places(struct request *r, const struct ensemble_row *ensemble, struct error *err)
{
    struct ensemble_row root;

    if (ensemble->root == 0)
        return ensemble->count;
    return find_named_ensemble(r, ensemble->root, &root, err) < 0 ? -1 : root.count;
}

enum member_state find_rowless_state(const struct ensemble_row *ensemble)
{
    return ensemble_is_over(ensemble) || ensemble_is_ending(ensemble) ? MEMBER_CANCELLED : MEMBER_PENDING;
}

struct member_row find_rowless(const struct ensemble_row *ensemble, int64_t index)
{
    return (struct member_row){
        .ensemble = ensemble->id, .index = index, .state = find_rowless_state(ensemble), .progress = NAN};
}

int find_member(struct request *r, struct ensemble_row *ensemble, struct member_row *row)
{
    int64_t index = request_id(r, 1);
    struct error err;
    int rc;

    if (find_ensemble(r, ensemble) < 0)
        return -1;
    if (index >= ensemble->count && ensemble->root == 0) {
        request_reply_error(r, "member_not_found",
                            "ensemble %" PRId64 " has %" PRId64 " members, from 0 on: there is no %" PRId64,
                            ensemble->id, ensemble->count, index);
        return -1;
    }
    rc = store_member_get(request_store(r), ensemble->id, index, row, &err);
    if (rc < 0) {
        request_reply_problem(r, &err);
        return -1;
    }
    if (rc == 0 && ensemble->root != 0) {
        request_reply_error(r, "member_not_found",
                            "ensemble %" PRId64 " follows up %" PRId64 " and has some of its members: %" PRId64
                            " is not one",
                            ensemble->id, ensemble->root, index);
        return -1;
    }
    if (rc == 0)
        *row = find_rowless(ensemble, index);
    return 0;
}

int find_training(struct request *r, struct training_row *row)
{
    struct error err;
    int rc = store_training_get(request_store(r), request_id(r, 0), row, &err);

    if (rc > 0)
        return 0;
    if (rc < 0)
        request_reply_problem(r, &err);
    else
        request_reply_error(r, "training_not_found", "there is no training %" PRId64, request_id(r, 0));
    return -1;
}

int find_job(struct request *r, struct job_row *row)
{
    struct error err;
    int rc = store_job_get(request_store(r), request_id(r, 0), row, &err);

    if (rc > 0)
        return 0;
    if (rc < 0)
        request_reply_problem(r, &err);
    else
        request_reply_error(r, "job_not_found", "there is no job %" PRId64, request_id(r, 0));
    return -1;
}

int64_t find_retry_ms(const struct request *r, const struct member_row *row)
{
    return row->state == MEMBER_PENDING && row->not_before_ms > request_now_ms(r) ? row->not_before_ms : 0;
}

int find_merged(struct request *r, int64_t ensemble, bool training, struct error *err)
{
    struct spec *owned = NULL;
    const struct spec *spec = engine_spec(request_config(r)->engine, ensemble, &owned, err);
    int merged;

    if (spec == NULL)
        return -1;
    merged = training ? spec->training.merged : spec->members.merged;
    spec_destroy(owned);
    return merged;
}
