#include "cli/sweep_read.h"

#include "cli/client.h"
#include "cli/pages.h"
#include "cli/render.h"
#include "cli/sweep_curve.h"
#include "cli/sweep_rules.h"
#include "common/jsonx.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sweep_reading {
    struct cli *cli;
    struct sweep_query *query;
    struct sweep *sweep;
    int64_t ensemble;
    json_t *resources;          /* of the ensemble's members; NULL: the spec names none */
    bool has_group, has_repeat; /* some run has the parameter */
};

int sweep_range_parse(const char *text, struct sweep_range *range)
{
    size_t len = strcspn(text, "<>");
    const char *number = text + len + 1;
    char *end;

    if (len == 0 || len >= sizeof range->metric || text[len] == '\0')
        return -1;
    memcpy(range->metric, text, len);
    range->metric[len] = '\0';
    range->above = text[len] == '>';
    range->strictly = *number != '=';
    number += *number == '=';
    range->limit = strtod(number, &end);
    return end == number || *end != '\0' || !isfinite(range->limit) ? -1 : 0;
}

bool sweep_range_has(const struct sweep_range *range, double value)
{
    if (isnan(value))
        return false;
    if (value == range->limit)
        return !range->strictly;
    return range->above == (value > range->limit);
}

void sweep_put_value(struct text *out, const json_t *value)
{
    char buf[TEXT_REAL];

    if (json_is_string(value))
        text_string(out, json_string_value(value));
    else if (json_is_real(value))
        text_string(out, text_real(buf, json_real_value(value)));
    else
        text_json(out, value);
}

/* Returns the parameters except one (NULL: all of them) as people read them. */
static char *parameters_text(const json_t *parameters, const char *without)
{
    struct text text = {0};
    const char *name;
    json_t *value;

    text_string(&text, "");
    json_object_foreach ((json_t *)parameters, name, value) {
        if (without != NULL && strcmp(name, without) == 0)
            continue;
        text_add(&text, "%s%s=", text.size > 0 ? " " : "", name);
        sweep_put_value(&text, value);
    }
    return text.data;
}

static void name_run(struct sweep_reading *reading, struct sweep_run *run, const json_t *parameters)
{
    const struct sweep_query *query = reading->query;
    bool by_ensemble = query->n_ensembles > 1 && (query->repeat == NULL || strcmp(query->repeat, "ensemble") != 0);
    json_t *rest = json_is_object(parameters) ? json_deep_copy(parameters) : json_object();
    const json_t *value = query->group != NULL ? jsonx_reach(parameters, query->group) : NULL;
    struct text group = {0};
    char *text;

    reading->has_repeat |= query->repeat != NULL && json_object_del(rest, query->repeat) == 0;
    reading->has_group |= value != NULL;
    text = jsonx_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
    run->config = by_ensemble ? xasprintf("%lld %s", (long long)run->ensemble, text) : xstrdup(text);
    run->parameters = parameters_text(parameters, NULL);
    run->values = json_is_object(parameters) ? json_deep_copy(parameters) : json_object();
    run->shown = parameters_text(parameters, query->repeat);
    free(text);
    json_decref(rest);
    if (query->group == NULL)
        return;
    text_string(&group, "");
    if (value != NULL)
        sweep_put_value(&group, value);
    else if ((reading->sweep->by_ensemble = strcmp(query->group, "ensemble") == 0))
        text_number(&group, run->ensemble);
    run->group = group.data;
}

/* Returns a resource of a member: if it depends on parameters it comes with the member, or else with the spec. */
static double resource(const struct sweep_reading *reading, const json_t *member, const char *key, double otherwise)
{
    const json_t *value = json_object_get(json_object_get(member, "resources"), key);
    const char *text;

    if (value == NULL)
        value = json_object_get(reading->resources, key);
    text = json_string_value(value);
    if (text != NULL)
        return strtod(text, NULL) > 0 ? strtod(text, NULL) : otherwise;
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

json_t *sweep_member(struct cli *cli, const struct sweep_run *run, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld/members/%lld", (long long)run->ensemble, (long long)run->index);
    json_t *member = NULL;

    client_get(cli->client, path, &member, NULL, err);
    free(path);
    return member;
}

static enum sweep_fate judge_run(const struct sweep_query *query, const json_t *member, const char *state)
{
    const json_t *metrics = json_object_get(member, "metrics"), *own = json_object_get(metrics, query->metric);
    const char *outcome = get_string(json_object_get(member, "last_attempt"), "outcome");
    bool diverged = own != NULL && isnan(sweep_number(own, "last"));

    if (strcmp(state, "failed") == 0)
        return diverged || strcmp(outcome, "diverged") == 0 ? SWEEP_DIVERGED : SWEEP_FAILED;
    if (strcmp(state, "stopped") == 0)
        return SWEEP_STOPPED;
    if (strcmp(state, "succeeded") != 0)
        return SWEEP_UNFINISHED;
    if (own == NULL)
        return SWEEP_UNMEASURED;
    if (diverged)
        return SWEEP_DIVERGED;
    if (query->accept.metric[0] != '\0' &&
        !sweep_range_has(&query->accept, sweep_number(json_object_get(metrics, query->accept.metric), "last")))
        return SWEEP_OUTSIDE;
    return SWEEP_RANKED;
}

static bool is_asked_for(const struct sweep_query *query, int64_t ensemble)
{
    for (size_t i = 0; i < query->n_ensembles; i++)
        if (query->ensembles[i] == ensemble)
            return true;
    return false;
}

static int add_run(struct sweep_reading *reading, const json_t *member, struct error *err)
{
    const json_t *parameters = json_object_get(member, "parameters"), *last = json_object_get(member, "last_attempt");
    const json_t *own = json_object_get(json_object_get(member, "metrics"), reading->query->metric);
    double cpus = resource(reading, member, "tasks", 1) * resource(reading, member, "cpus_per_task", 1);
    int64_t successor = get_int(member, "follow_up");
    struct attempts attempts;
    struct sweep_run *run;
    int rc;

    if (successor != 0 && is_asked_for(reading->query, successor))
        return 0; /* it is a run of that ensemble */
    run = sweep_add(reading->sweep);
    run->ensemble = reading->ensemble;
    run->index = get_int(member, "index");
    run->attempts = get_int(member, "attempts");
    run->reason = successor != 0 ? xasprintf("goes on in ensemble %lld", (long long)successor)
                                 : xstrdup(get_string(member, "reason"));
    run->started = sweep_moment(last, "started");
    run->ended = sweep_moment(last, "ended");
    run->points = get_int(own, "points");
    run->not_finite = get_int(own, "not_finite");
    for (int i = 0; i < SWEEP_FIGURES; i++)
        run->figures[i] = NAN;
    run->figures[SWEEP_LAST] = sweep_number(own, "last");
    run->fate = judge_run(reading->query, member, successor != 0 ? "unfinished" : get_string(member, "state"));
    name_run(reading, run, parameters);
    run->span = NAN;
    rc = attempts_read(reading->cli, run, &attempts, err);
    run->core_seconds = cpus * attempts_time(&attempts);
    run->gpu_seconds = resource(reading, member, "gpus", 0) * attempts_time(&attempts);
    if (rc == 0 && run->fate == SWEEP_RANKED)
        rc = sweep_measure(reading->cli, reading->query, own, &attempts, run, err);
    attempts_fini(&attempts);
    return rc;
}

struct sweep_members_page {
    struct sweep_reading *reading;
    int rc;
    struct error *err;
};

static void take_page(void *arg, const json_t *items)
{
    struct sweep_members_page *page = arg;
    json_t *member;
    size_t i;

    json_array_foreach ((json_t *)items, i, member)
        if (page->rc == 0)
            page->rc = add_run(page->reading, member, page->err);
}

static int read_ensemble_runs(struct sweep_reading *reading, struct error *err)
{
    const struct sweep_query *query = reading->query;
    bool second = query->accept.metric[0] != '\0' && strcmp(query->accept.metric, query->metric) != 0;
    char *own = client_escape(query->metric), *other = client_escape(second ? query->accept.metric : "");
    char *spec_path = xasprintf("/v1/ensembles/%lld/spec", (long long)reading->ensemble);
    char *path = xasprintf("/v1/ensembles/%lld/members?limit=500&metrics=%s%s%s", (long long)reading->ensemble, own,
                           second ? "," : "", other);
    struct cli quiet = *reading->cli; /* pages are read here, and not printed */
    struct sweep_members_page page = {.reading = reading, .err = err};
    json_t *spec = NULL;
    int rc = client_get(reading->cli->client, spec_path, &spec, NULL, err);

    quiet.json = false;
    if (rc == 0) {
        char *id = xasprintf("%lld", (long long)reading->ensemble);

        if (json_is_object(json_object_get(spec, "rules")))
            json_object_set_new(query->rules, id,
                                json_pack("{s:O, s:O?}", "rules", json_object_get(spec, "rules"), "command",
                                          json_object_get(json_object_get(spec, "members"), "command")));
        free(id);
        reading->resources = json_object_get(json_object_get(spec, "members"), "resources");
        rc = pages_each(&quiet, path, "members", take_page, &page, err);
    }
    json_decref(spec);
    free(path);
    free(spec_path);
    free(other);
    free(own);
    return rc < 0 ? rc : page.rc;
}

static int read_artefacts_of(struct cli *cli, struct sweep_query *query, const struct sweep_config *config,
                             struct error *err)
{
    size_t i = 0;
    json_t *member;
    char *name;

    while (config->runs[i]->fate != SWEEP_RANKED)
        i++;
    member = sweep_member(cli, config->runs[i], err);
    if (member == NULL)
        return -1;
    name = xasprintf("%lld.%lld", (long long)config->runs[i]->ensemble, (long long)config->runs[i]->index);
    if (json_array_size(json_object_get(member, "artefacts")) > 0)
        json_object_set(query->artefacts, name, json_object_get(member, "artefacts"));
    if (json_object_size(json_object_get(member, "metrics")) > 0)
        json_object_set(query->metrics, name, json_object_get(member, "metrics"));
    free(name);
    json_decref(member);
    return 0;
}

int sweep_read_artefacts(struct cli *cli, struct sweep_query *query, const struct sweep *sweep, size_t max,
                         struct error *err)
{
    int rc = sweep->n_ranked > 0 ? read_artefacts_of(cli, query, &sweep->configs[0], err) : 0;

    for (size_t i = 0; i < sweep->n_groups && i < max && rc == 0; i++)
        if (sweep->groups[i].best != NULL)
            rc = read_artefacts_of(cli, query, sweep->groups[i].best, err);
    return rc;
}

void sweep_query_fini(struct sweep_query *query)
{
    json_decref(query->rules);
    json_decref(query->artefacts);
    json_decref(query->metrics);
}

int sweep_read(struct cli *cli, struct sweep_query *query, struct sweep *sweep, struct error *err)
{
    struct sweep_reading reading = {.cli = cli, .query = query, .sweep = sweep};

    query->rules = json_object();
    query->artefacts = json_object();
    query->metrics = json_object();
    for (size_t i = 0; i < query->n_ensembles; i++) {
        reading.ensemble = query->ensembles[i];
        if (read_ensemble_runs(&reading, err) < 0)
            return -1;
    }
    if (query->group != NULL && !reading.has_group && strcmp(query->group, "ensemble") != 0)
        return error_set(err, "no_parameter", "no member has the parameter \"%.100s\"", query->group);
    if (query->repeat != NULL && !reading.has_repeat && strcmp(query->repeat, "ensemble") != 0)
        return error_set(err, "no_parameter", "no member has the parameter \"%.100s\"", query->repeat);
    if (sweep_read_rules(cli, query, sweep, err) < 0)
        return -1;
    sweep_choose_horizon(query, sweep);
    for (size_t i = 0; i < sweep->n_runs; i++)
        if (sweep->runs[i].fate == SWEEP_RANKED && sweep_read_curve(cli, query, sweep->by, &sweep->runs[i], err) < 0)
            return -1;
    return 0;
}
