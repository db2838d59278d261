/* The runs of a sweep for programs: CSV and JSON. */
#include "cli/sweep_print.h"

#include "common/text.h"
#include "common/xalloc.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const figure_keys[SWEEP_FIGURES] = {"area", "last", "best", "time_to_target", "time"};

static void put_text(const char *text, FILE *to)
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
static void put_number(double number, FILE *to)
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

static void print_row(void *arg, const struct sweep_run *run, size_t rank)
{
    FILE *to = arg;

    if (rank > 0)
        fprintf(to, "%zu", rank);
    fprintf(to, ",%lld,%lld,%s,", (long long)run->ensemble, (long long)run->index, sweep_fate_names[run->fate]);
    put_text(run->group != NULL ? run->group : "", to);
    putc(',', to);
    put_text(run->parameters, to);
    for (int figure = 0; figure < SWEEP_FIGURES; figure++) {
        putc(',', to);
        put_number(run->figures[figure], to);
    }
    fprintf(to, ",%lld,%lld,%lld,", (long long)run->points, (long long)run->not_finite, (long long)run->attempts);
    put_number(run->core_seconds / 3600, to);
    putc(',', to);
    put_number(run->gpu_seconds / 3600, to);
    putc(',', to);
    put_text(run->reason, to);
    putc('\n', to);
}

void sweep_print_csv(const struct sweep *sweep, FILE *to)
{
    fputs("rank,ensemble,index,fate,group,parameters", to);
    for (int figure = 0; figure < SWEEP_FIGURES; figure++)
        fprintf(to, ",%s", figure_keys[figure]);
    fputs(",points,not_finite,attempts,core_hours,gpu_hours,reason\n", to);
    each_run(sweep, print_row, to);
}

static json_t *number_or_null(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

struct listing {
    FILE *to;
    bool any;
};

static void print_json_row(void *arg, const struct sweep_run *run, size_t rank)
{
    struct listing *listing = arg;
    json_t *json = json_pack(
        "{s:o, s:I, s:I, s:s, s:s?, s:s, s:s}", "rank", rank > 0 ? json_integer((json_int_t)rank) : json_null(),
        "ensemble", (json_int_t)run->ensemble, "index", (json_int_t)run->index, "fate", sweep_fate_names[run->fate],
        "group", run->group, "parameters", run->parameters, "reason", run->reason);

    for (int figure = 0; figure < SWEEP_FIGURES; figure++)
        json_object_set_new(json, figure_keys[figure], number_or_null(run->figures[figure]));
    json_object_set_new(json, "points", json_integer(run->points));
    json_object_set_new(json, "not_finite", json_integer(run->not_finite));
    json_object_set_new(json, "attempts", json_integer(run->attempts));
    json_object_set_new(json, "core_hours", number_or_null(run->core_seconds / 3600));
    json_object_set_new(json, "gpu_hours", number_or_null(run->gpu_seconds / 3600));
    fputs(listing->any ? "," : "", listing->to);
    listing->any = true;
    json_dumpf(json, listing->to, JSON_COMPACT);
    json_decref(json);
}

void sweep_print_json(const struct sweep *sweep, const struct sweep_query *query, FILE *to)
{
    struct listing listing = {.to = to};
    json_t *head =
        json_pack("{s:s, s:b, s:s, s:s, s:o, s:I, s:I, s:o}", "metric", query->metric, "higher_is_better",
                  sweep->higher, "ranked_by", figure_keys[sweep->by], "over", query->over_steps ? "steps" : "time",
                  "horizon", number_or_null(query->horizon), "carried", (json_int_t)query->carried, "without_curve",
                  (json_int_t)sweep->fates[SWEEP_NO_CURVE], "target", number_or_null(query->target));
    char *text = json_dumps(head, JSON_COMPACT);

    fprintf(to, "%.*s,\"runs\":[", (int)strlen(text) - 1, text);
    each_run(sweep, print_json_row, &listing);
    fputs("]}\n", to);
    free(text);
    json_decref(head);
}
