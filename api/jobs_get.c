#include "api/find.h"
#include "api/handlers.h"
#include "api/job_json.h"
#include "api/listing.h"

#include <stdio.h>
#include <string.h>

static int list_job(void *arg, const struct job_row *row)
{
    struct listing *list = arg;

    return listing_put(list, row->id, job_json(list->r, row, &list->err));
}

/* Checks the adapter of a filter: it must be loaded now, or some ensemble has used it. */
static int check_adapter(struct request *r, const char *name, struct error *err)
{
    const struct adapters *all = request_config(r)->adapters;
    struct engine_adapter adapter;
    char names[200] = "";
    int rc;

    if (name == NULL || engine_adapter(request_config(r)->engine, name, &adapter))
        return 0;
    rc = store_ensemble_any_of(request_store(r), name, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    for (size_t i = 0; i < adapters_count(all); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                 i == 0                        ? ""
                 : i + 1 < adapters_count(all) ? ", "
                                               : " or ",
                 adapters_name(all, i));
    return error_set(err, "query_wrong_value", "query parameter \"adapter\" must be %s, not \"%.60s\"", names, name);
}

static int read_job_query(struct request *r, struct job_filter *filter, struct error *err)
{
    const char *state = request_query(r, "state");

    filter->adapter = request_query(r, "adapter");
    filter->has_state = state != NULL;
    if (state != NULL && job_state_parse(state, &filter->state) < 0)
        return error_set(err, "query_wrong_value",
                         "query parameter \"state\" must be intent, submitted, running or ended, not \"%.60s\"", state);
    if (check_adapter(r, filter->adapter, err) < 0)
        return -1;
    return request_query_int(r, "ensemble", 1, INT64_MAX, &filter->ensemble, err);
}

/* Returns 1 if no job can fit: all jobs of an ensemble are its adapter's or its training's, so that they need not be
 * searched for another adapter. */
static int is_vain(struct request *r, const struct job_filter *filter, struct error *err)
{
    struct ensemble_row row;
    struct training_row training;
    int rc;

    if (filter->ensemble == 0)
        return 0;
    if (find_named_ensemble(r, filter->ensemble, &row, err) < 0)
        return -1;
    if (filter->adapter == NULL || strcmp(row.adapter, filter->adapter) == 0)
        return 0;
    rc = store_training_of(request_store(r), filter->ensemble, &training, err);
    return rc < 0 ? -1 : rc == 0 || strcmp(training.adapter, filter->adapter) != 0;
}

void jobs_get(struct request *r)
{
    struct job_filter filter = {0};
    struct listing list;
    int64_t next = 0;
    int rc = listing_begin(&list, r);

    if (rc == 0)
        rc = read_job_query(r, &filter, &list.err);
    if (rc == 0)
        rc = is_vain(r, &filter, &list.err);
    if (rc == 0)
        rc = store_job_each(request_store(r), list.before, &filter, (int)list.limit, list_job, &list, &next, &list.err);
    list.next = next > 1 ? next : 0; /* no job has an id below 1 */
    listing_reply(&list, "jobs", rc);
}
