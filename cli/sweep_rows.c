/* The runs of a sweep for programs: CSV and JSON. */
#include "cli/sweep_print.h"

#include "common/jsonx.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const figure_keys[SWEEP_FIGURES] = {"area", "last", "best", "time_to_target", "time"};

static void put_csv_text(const char *text, FILE *to)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, to);
        return;
    }
    putc('"', to);
    for (const char *c = text; *c; c++)
        fputs(*c == '"' ? "\"\"" : (char[2]){*c, '\0'}, to);
    putc('"', to);
}

/* Prints a number in full precision; nothing for NAN. */
static void put_csv_number(double number, FILE *to)
{
    char text[TEXT_REAL] = "";

    fputs(isfinite(number) ? text_real(text, number) : text, to);
}

/* Calls `each` for every run with the rank of its configuration, 0 for none: ranked ones first. */
static void each_run(const struct sweep *sweep, void (*each)(void *arg, const struct sweep_run *run, size_t rank),
                     void *arg)
{
    for (size_t i = 0; i < sweep->n_configs; i++)
        for (size_t k = 0; k < sweep->configs[i].n; k++) {
            const struct sweep_run *run = sweep->configs[i].runs[k];

            each(arg, run, run->fate == SWEEP_RANKED ? sweep->configs[i].rank : 0);
        }
}

/* The rows of a CSV file, which has a column for each parameter. */
struct csv_rows {
    FILE *to;
    const json_t *names; /* an object, whose keys are those of all parameters */
};

static void put_values(const struct csv_rows *rows, const struct sweep_run *run)
{
    const char *name;
    json_t *none;

    json_object_foreach ((json_t *)rows->names, name, none) {
        const json_t *value = json_object_get(run->values, name);
        struct text text = {0};

        putc(',', rows->to);
        text_string(&text, "");
        if (value != NULL)
            sweep_put_value(&text, value);
        put_csv_text(text.data, rows->to);
        free(text.data);
    }
}

static void print_csv_row(void *arg, const struct sweep_run *run, size_t rank)
{
    const struct csv_rows *rows = arg;
    FILE *to = rows->to;

    if (rank > 0)
        fprintf(to, "%zu", rank);
    fprintf(to, ",%lld,%lld,%s,", (long long)run->ensemble, (long long)run->index, sweep_fate_names[run->fate]);
    put_csv_text(run->group != NULL ? run->group : "", to);
    putc(',', to);
    put_csv_text(run->parameters, to);
    for (int figure = 0; figure < SWEEP_FIGURES; figure++) {
        putc(',', to);
        put_csv_number(run->figures[figure], to);
    }
    fprintf(to, ",%lld,%lld,%lld,", (long long)run->points, (long long)run->not_finite, (long long)run->attempts);
    put_csv_number(run->core_seconds / 3600, to);
    putc(',', to);
    put_csv_number(run->gpu_seconds / 3600, to);
    putc(',', to);
    put_csv_text(run->reason, to);
    put_values(rows, run);
    putc('\n', to);
}

static const char first_columns[] = "rank,ensemble,index,fate,group,parameters",
                  last_columns[] = "points,not_finite,attempts,core_hours,gpu_hours,reason";

/* Returns whether another column has the name of a parameter. */
static bool is_column(const char *name)
{
    char *list = xasprintf(",%s,area,last,best,time_to_target,time,%s,", first_columns, last_columns);
    char *word = xasprintf(",%s,", name);
    bool found = strstr(list, word) != NULL;

    free(word);
    free(list);
    return found;
}

static void print_names(const json_t *names, FILE *to)
{
    const char *name;
    json_t *none;

    json_object_foreach ((json_t *)names, name, none) {
        char *column = is_column(name) ? xasprintf("parameters.%s", name) : xstrdup(name);

        putc(',', to);
        put_csv_text(column, to);
        free(column);
    }
}

void sweep_print_csv(const struct sweep *sweep, FILE *to)
{
    struct csv_rows rows = {.to = to};
    json_t *names = json_object();

    for (size_t i = 0; i < sweep->n_runs; i++)
        json_object_update_missing(names, sweep->runs[i].values);
    rows.names = names;
    fputs(first_columns, to);
    for (int figure = 0; figure < SWEEP_FIGURES; figure++)
        fprintf(to, ",%s", figure_keys[figure]);
    fprintf(to, ",%s", last_columns);
    print_names(names, to);
    putc('\n', to);
    each_run(sweep, print_csv_row, &rows);
    json_decref(names);
}

static json_t *number_json(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

struct json_list {
    FILE *to;
    bool any;
};

static void print_json_row(void *arg, const struct sweep_run *run, size_t rank)
{
    struct json_list *listing = arg;
    json_t *json = json_pack(
        "{s:o, s:I, s:I, s:s, s:s?, s:s, s:s}", "rank", rank > 0 ? json_integer((json_int_t)rank) : json_null(),
        "ensemble", (json_int_t)run->ensemble, "index", (json_int_t)run->index, "fate", sweep_fate_names[run->fate],
        "group", run->group, "parameters", run->parameters, "reason", run->reason);

    for (int figure = 0; figure < SWEEP_FIGURES; figure++)
        json_object_set_new(json, figure_keys[figure], number_json(run->figures[figure]));
    json_object_set(json, "values", run->values);
    json_object_set_new(json, "points", json_integer(run->points));
    json_object_set_new(json, "not_finite", json_integer(run->not_finite));
    json_object_set_new(json, "attempts", json_integer(run->attempts));
    json_object_set_new(json, "core_hours", number_json(run->core_seconds / 3600));
    json_object_set_new(json, "gpu_hours", number_json(run->gpu_seconds / 3600));
    fputs(listing->any ? "," : "", listing->to);
    listing->any = true;
    jsonx_print(json, listing->to);
    json_decref(json);
}

void sweep_print_json(const struct sweep *sweep, const struct sweep_query *query, FILE *to)
{
    struct json_list listing = {.to = to};
    json_t *head =
        json_pack("{s:s, s:b, s:s, s:s, s:o, s:I, s:I, s:o}", "metric", query->metric, "higher_is_better",
                  sweep->higher, "ranked_by", figure_keys[sweep->by], "over", query->over_steps ? "steps" : "time",
                  "horizon", number_json(query->horizon), "carried", (json_int_t)query->carried, "without_curve",
                  (json_int_t)sweep->fates[SWEEP_NO_CURVE], "target", number_json(query->target));
    char *text = jsonx_dumps(head, JSON_COMPACT);

    fprintf(to, "%.*s,\"runs\":[", (int)strlen(text) - 1, text);
    each_run(sweep, print_json_row, &listing);
    putc(']', to);
    if (json_object_size(query->rules) > 0) {
        fputs(",\"rules\":", to);
        jsonx_print(query->rules, to);
    }
    fputs("}\n", to);
    free(text);
    json_decref(head);
}
