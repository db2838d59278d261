#include "cli/sweep_read.h"

#include "cli/client.h"
#include "cli/points.h"
#include "cli/pages.h"
#include "cli/render.h"
#include "common/jsonx.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
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

/* Returns a number; NAN for null or what is none. */
static double number(const json_t *obj, const char *key)
{
    const json_t *value = json_object_get(obj, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static double moment(const json_t *obj, const char *key)
{
    double at = render_time_parse(get_string(obj, key));

    return at < 0 ? NAN : at;
}

static void put_value(struct text *out, const json_t *value)
{
    char buf[TEXT_REAL];

    if (json_is_string(value))
        text_string(out, json_string_value(value));
    else if (json_is_real(value))
        text_string(out, text_real(buf, json_real_value(value)));
    else
        text_json_short(out, value);
}

/* Returns the parameters but for one (NULL for none) as people read them. */
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
        put_value(&text, value);
    }
    return text.data;
}

static void name_run(struct reading *reading, struct sweep_run *run, const json_t *parameters)
{
    const struct sweep_query *query = reading->query;
    bool by_ensemble = query->n_ensembles > 1 && (query->repeat == NULL || strcmp(query->repeat, "ensemble") != 0);
    json_t *rest = json_is_object(parameters) ? json_deep_copy(parameters) : json_object();
    const json_t *value = query->group != NULL ? jsonx_reach(parameters, query->group) : NULL;
    struct text group = {0};
    char *text;

    reading->has_repeat |= query->repeat != NULL && json_object_del(rest, query->repeat) == 0;
    reading->has_group |= value != NULL;
    text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
    run->config = by_ensemble ? xasprintf("%lld %s", (long long)run->ensemble, text) : xstrdup(text);
    run->parameters = parameters_text(parameters, NULL);
    run->shown = parameters_text(parameters, query->repeat);
    free(text);
    json_decref(rest);
    if (query->group == NULL)
        return;
    text_string(&group, "");
    if (value != NULL)
        put_value(&group, value);
    else if ((reading->sweep->by_ensemble = strcmp(query->group, "ensemble") == 0))
        text_number(&group, run->ensemble);
    run->group = group.data;
}

/* Returns a resource of a member: where it depends on parameters it comes with the member, or else with the spec. */
static double resource(const struct reading *reading, const json_t *member, const char *key, double otherwise)
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

static json_t *get_member(struct cli *cli, const struct sweep_run *run, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld/members/%lld", (long long)run->ensemble, (long long)run->index);
    json_t *member = NULL;

    client_get(cli->client, path, &member, NULL, err);
    free(path);
    return member;
}

/* The attempts of a run: when they began and ended, in Unix seconds; NAN where that is not known. */
struct attempts {
    double *starts, *ends;
    int64_t n;
};

static void attempts_fini(struct attempts *attempts)
{
    free(attempts->starts);
    free(attempts->ends);
}

static int read_attempts(struct cli *cli, const struct sweep_run *run, struct attempts *attempts, struct error *err)
{
    json_t *member = NULL, *item;
    const json_t *list;
    size_t i;

    *attempts = (struct attempts){.n = run->attempts};
    attempts->starts = xcalloc((size_t)run->attempts + 1, sizeof *attempts->starts);
    attempts->ends = xcalloc((size_t)run->attempts + 1, sizeof *attempts->ends);
    for (int64_t k = 0; k < run->attempts; k++)
        attempts->starts[k] = attempts->ends[k] = NAN;
    if (run->attempts == 1) {
        attempts->starts[0] = run->started;
        attempts->ends[0] = run->ended;
        return 0;
    }
    if (run->attempts > 1 && (member = get_member(cli, run, err)) == NULL)
        return -1;
    list = json_object_get(member, "attempts");
    json_array_foreach ((json_t *)list, i, item) {
        int64_t k = get_int(item, "number") - 1;

        if (k < 0 || k >= run->attempts)
            continue;
        attempts->starts[k] = moment(item, "started");
        attempts->ends[k] = moment(item, "ended");
    }
    json_decref(member);
    return 0;
}

/* Returns the time for which all attempts together ran. */
static double time_of_all(const struct attempts *attempts)
{
    double sum = 0;

    for (int64_t k = 0; k < attempts->n; k++)
        if (attempts->ends[k] > attempts->starts[k])
            sum += attempts->ends[k] - attempts->starts[k];
    return sum;
}

struct walk {
    struct run_clock clock;
    struct curve *curve;
    void (*each)(void *arg, double time, double value);
    void *arg;
};

static bool take_point(void *arg, const json_t *point)
{
    struct walk *walk = arg;
    double time = run_clock_at(&walk->clock, get_int(point, "attempt"), moment(point, "time")), last_time;
    double value = number(point, "value"), first = number(point, "first");
    int64_t count = get_int(point, "count");

    if (count < 2) {
        if (walk->curve != NULL)
            curve_add(walk->curve, time, value);
        if (walk->each != NULL)
            walk->each(walk->arg, time, value);
        return true;
    }
    last_time = run_clock_at(&walk->clock, get_int(point, "attempt"), moment(point, "last_time"));
    if (walk->curve != NULL)
        curve_add_merged(walk->curve, time, first, last_time, value, number(point, "min"), number(point, "max"), count,
                         get_int(point, "not_finite"));
    if (walk->each != NULL) {
        walk->each(walk->arg, time, first);
        walk->each(walk->arg, last_time, value);
    }
    return true;
}

static int walk_points(struct cli *cli, const struct sweep_query *query, const struct sweep_run *run, struct walk *walk,
                       struct error *err)
{
    return points_read(cli, run->ensemble, run->index, query->metric, take_point, walk, err);
}

/* Returns the time that the run took. The last points' attempt, and later ones, count up to their ends. */
static double time_of_run(const struct run_clock *clock, const struct attempts *attempts)
{
    int64_t k = clock->attempt;
    double sum;

    if (k < 1 || k > attempts->n || isnan(attempts->ends[k - 1]) || isnan(attempts->starts[k - 1]))
        return clock->at;
    sum = clock->before + attempts->ends[k - 1] - attempts->starts[k - 1];
    for (; k < attempts->n; k++)
        if (attempts->ends[k] > attempts->starts[k])
            sum += attempts->ends[k] - attempts->starts[k];
    return sum > clock->at ? sum : clock->at;
}

/* Finds how long a run of several attempts took, which its points tell. */
static int measure_time(struct cli *cli, const struct sweep_query *query, struct sweep_run *run,
                        const struct attempts *attempts, struct error *err)
{
    struct walk walk = {.curve = NULL};

    if (run->attempts == 1) {
        run->figures[SWEEP_RAN] = run->ended - run->started;
        return 0;
    }
    run_clock_begin(&walk.clock, attempts->starts, attempts->n);
    if (walk_points(cli, query, run, &walk, err) < 0)
        return -1;
    run->figures[SWEEP_RAN] = time_of_run(&walk.clock, attempts);
    return 0;
}

static enum sweep_fate judge(const struct sweep_query *query, const json_t *member, const char *state)
{
    const json_t *metrics = json_object_get(member, "metrics"), *own = json_object_get(metrics, query->metric);
    const char *outcome = get_string(json_object_get(member, "last_attempt"), "outcome");
    bool diverged = own != NULL && isnan(number(own, "last"));

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
        !sweep_range_has(&query->accept, number(json_object_get(metrics, query->accept.metric), "last")))
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

static int add_run(struct reading *reading, const json_t *member, struct error *err)
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
    run->started = moment(last, "started");
    run->ended = moment(last, "ended");
    run->points = get_int(own, "points");
    run->not_finite = get_int(own, "not_finite");
    for (int i = 0; i < SWEEP_FIGURES; i++)
        run->figures[i] = NAN;
    run->figures[SWEEP_LAST] = number(own, "last");
    run->fate = judge(reading->query, member, successor != 0 ? "unfinished" : get_string(member, "state"));
    name_run(reading, run, parameters);
    if (read_attempts(reading->cli, run, &attempts, err) < 0) {
        attempts_fini(&attempts);
        return -1;
    }
    run->core_seconds = cpus * time_of_all(&attempts);
    run->gpu_seconds = resource(reading, member, "gpus", 0) * time_of_all(&attempts);
    rc = run->fate == SWEEP_RANKED ? measure_time(reading->cli, reading->query, run, &attempts, err) : 0;
    attempts_fini(&attempts);
    return rc;
}

struct page {
    struct reading *reading;
    int rc;
    struct error *err;
};

static void take_page(void *arg, const json_t *items)
{
    struct page *page = arg;
    json_t *member;
    size_t i;

    json_array_foreach ((json_t *)items, i, member)
        if (page->rc == 0)
            page->rc = add_run(page->reading, member, page->err);
}

static int read_ensemble(struct reading *reading, struct error *err)
{
    const struct sweep_query *query = reading->query;
    bool second = query->accept.metric[0] != '\0' && strcmp(query->accept.metric, query->metric) != 0;
    char *own = client_escape(query->metric), *other = client_escape(second ? query->accept.metric : "");
    char *spec_path = xasprintf("/v1/ensembles/%lld/spec", (long long)reading->ensemble);
    char *path = xasprintf("/v1/ensembles/%lld/members?limit=500&metrics=%s%s%s", (long long)reading->ensemble, own,
                           second ? "," : "", other);
    struct cli quiet = *reading->cli; /* pages are read here, and not printed */
    struct page page = {.reading = reading, .err = err};
    json_t *spec = NULL;
    int rc = client_get(reading->cli->client, spec_path, &spec, NULL, err);

    quiet.json = false;
    if (rc == 0) {
        char *id = xasprintf("%lld", (long long)reading->ensemble);

        if (json_is_object(json_object_get(spec, "rules")))
            json_object_set(query->rules, id, json_object_get(spec, "rules"));
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

/* Returns the shortest time of a ranked run. */
static double shortest(const struct sweep *sweep)
{
    double least = INFINITY;

    for (size_t i = 0; i < sweep->n_runs; i++)
        if (sweep->runs[i].fate == SWEEP_RANKED && sweep->runs[i].figures[SWEEP_RAN] < least)
            least = sweep->runs[i].figures[SWEEP_RAN];
    return least;
}

static int read_curve(struct cli *cli, struct sweep_query *query, struct sweep_run *run, struct error *err)
{
    struct attempts attempts;
    struct curve curve;
    struct walk walk = {.curve = &curve};
    int rc = read_attempts(cli, run, &attempts, err);

    curve_begin(&curve, query->horizon, query->target, query->higher);
    run_clock_begin(&walk.clock, attempts.starts, attempts.n);
    if (rc == 0)
        rc = walk_points(cli, query, run, &walk, err);
    curve_end(&curve);
    attempts_fini(&attempts);
    run->figures[SWEEP_AREA] = curve.area;
    run->figures[SWEEP_BEST] = curve.best;
    run->figures[SWEEP_REACHED] = curve.reached;
    query->carried |= curve.carried;
    return rc;
}

static int read_artefacts_of(struct cli *cli, struct sweep_query *query, const struct sweep_config *config,
                             struct error *err)
{
    size_t i = 0;
    json_t *member;
    char *name;

    while (config->runs[i]->fate != SWEEP_RANKED)
        i++;
    member = get_member(cli, config->runs[i], err);
    if (member == NULL)
        return -1;
    name = xasprintf("%lld.%lld", (long long)config->runs[i]->ensemble, (long long)config->runs[i]->index);
    if (json_array_size(json_object_get(member, "artefacts")) > 0)
        json_object_set(query->artefacts, name, json_object_get(member, "artefacts"));
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
}

int sweep_read_points(struct cli *cli, const struct sweep_query *query, const struct sweep_run *run,
                      void (*each)(void *arg, double time, double value), void *arg, struct error *err)
{
    struct attempts attempts;
    struct walk walk = {.each = each, .arg = arg};
    int rc = read_attempts(cli, run, &attempts, err);

    run_clock_begin(&walk.clock, attempts.starts, attempts.n);
    if (rc == 0)
        rc = walk_points(cli, query, run, &walk, err);
    attempts_fini(&attempts);
    return rc;
}

int sweep_read(struct cli *cli, struct sweep_query *query, struct sweep *sweep, struct error *err)
{
    struct reading reading = {.cli = cli, .query = query, .sweep = sweep};

    query->rules = json_object();
    query->artefacts = json_object();
    for (size_t i = 0; i < query->n_ensembles; i++) {
        reading.ensemble = query->ensembles[i];
        if (read_ensemble(&reading, err) < 0)
            return -1;
    }
    if (query->group != NULL && !reading.has_group && strcmp(query->group, "ensemble") != 0)
        return error_set(err, "no_parameter", "no member has the parameter \"%.100s\"", query->group);
    if (query->repeat != NULL && !reading.has_repeat && strcmp(query->repeat, "ensemble") != 0)
        return error_set(err, "no_parameter", "no member has the parameter \"%.100s\"", query->repeat);
    if (isnan(query->horizon))
        query->horizon = shortest(sweep);
    for (size_t i = 0; i < sweep->n_runs; i++)
        if (sweep->runs[i].fate == SWEEP_RANKED && read_curve(cli, query, &sweep->runs[i], err) < 0)
            return -1;
    return 0;
}
