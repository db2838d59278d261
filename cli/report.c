#include "cli/report.h"

#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/failures.h"
#include "cli/render.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "common/member_state.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

static void print_state(const char *state, FILE *to)
{
    enum style style = style_of_state(state);

    fprintf(to, "%s%s%s", style_on(style), state, style_off(style));
}

/* Prints a name, on a terminal at most half a line of it, so that what follows is seen. */
static void print_name(const char *text, FILE *to)
{
    char *name = render_text(text);
    int room = terminal_width() / 2;
    bool cut = room > 0 && text_width(name) > room;

    fprintf(to, "%.*s%s", (int)(cut ? text_fit(name, room - 1) : strlen(name)), name, cut ? terminal_dots() : "");
    free(name);
}

static void print_ensemble_head(const json_t *ensemble, FILE *to)
{
    char text[RENDER_SIZE], *reason = render_text(get_string(ensemble, "reason"));
    double took = render_seconds_between(ensemble, "created", "ended");

    fprintf(to, "%sensemble %lld ", style_on(STYLE_BOLD), (long long)get_int(ensemble, "id"));
    print_name(get_string(ensemble, "name"), to);
    fprintf(to, "%s: ", style_off(STYLE_BOLD));
    print_state(get_string(ensemble, "state"), to);
    if (took >= 0)
        fprintf(to, " in %s", render_duration(text, took));
    fprintf(to, "%s%s\n", reason[0] ? ": " : "", reason);
    free(reason);
}

/* Prints the rest of a line: how many members are in each state that has some. */
static void print_states(const json_t *counts, FILE *to)
{
    const char *separator = "";

    for (enum member_state state = 0; state < MEMBER_STATE_COUNT; state++) {
        const char *name = member_state_name(state);

        if (get_int(counts, name) > 0) {
            fprintf(to, "%s %lld ", separator, (long long)get_int(counts, name));
            print_state(name, to);
            separator = ",";
        }
    }
    fputc('\n', to);
}

static void print_lineage(const json_t *ensemble, FILE *to)
{
    const json_t *next = json_object_get(ensemble, "follow_ups"), *family = json_object_get(ensemble, "family");

    if (get_int(ensemble, "follow_up_of") != 0)
        fprintf(to, "follows up %lld\n", (long long)get_int(ensemble, "follow_up_of"));
    if (json_array_size(next) > 0)
        fprintf(to, "followed   by %lld\n", (long long)json_integer_value(json_array_get(next, 0)));
    if (!json_is_object(family))
        return;
    fprintf(to, "family     %lld follow-up%s, the last %lld, %s:", (long long)get_int(family, "follow_ups"),
            get_int(family, "follow_ups") == 1 ? "" : "s", (long long)get_int(family, "newest"),
            get_string(family, "state"));
    print_states(json_object_get(family, "members"), to);
}

/* Prints the limits of one number: " width 4 to 200". */
static void print_limits(const json_t *elastic, const char *knob, FILE *to)
{
    const json_t *limits = json_object_get(elastic, knob), *by_hand = json_object_get(elastic, "by_hand"), *item;
    size_t i;

    if (!json_is_array(limits))
        return;
    fprintf(to, "%s %lld to %lld", knob, (long long)json_integer_value(json_array_get(limits, 0)),
            (long long)json_integer_value(json_array_get(limits, 1)));
    json_array_foreach (by_hand, i, item)
        if (json_is_string(item) && strcmp(json_string_value(item), knob) == 0)
            fprintf(to, " (set by hand, and left alone)");
}

static void print_elastic(const json_t *elastic, FILE *to)
{
    char *reason = render_text(get_string(elastic, "reason")), age[RENDER_SIZE];

    if (json_is_object(elastic)) {
        fprintf(to, "elastic    ");
        print_limits(elastic, "width", to);
        if (json_is_array(json_object_get(elastic, "width")) && json_is_array(json_object_get(elastic, "ranks")))
            fprintf(to, ", ");
        print_limits(elastic, "ranks", to);
        fprintf(to, "\n");
    }
    if (reason[0] != '\0')
        fprintf(to, "           %s, %s\n", render_age(age, get_string(elastic, "changed")), reason);
    free(reason);
}

static void print_notice(const json_t *ensemble, FILE *to)
{
    char *words = render_sentence(ensemble_notice(ensemble));

    /* its own hold is printed as the reason of its state */
    if (words[0] && strcmp(get_string(json_object_get(ensemble, "notice"), "code"), "held") != 0)
        fprintf(to, "waiting    %s%s%s\n", style_on(STYLE_CARE), words, style_off(STYLE_CARE));
    free(words);
}

/* Prints the newest checkpoint of the training, and the one that it went on from. */
static void print_checkpoint(const json_t *training, FILE *to)
{
    const json_t *checkpoint = json_object_get(training, "checkpoint");
    const char *from = get_string(training, "resumed_from");
    char age[RENDER_SIZE];

    if (!json_is_object(checkpoint))
        return;
    fprintf(to, "checkpoint %s, step %lld, %lld bytes, %s", get_string(checkpoint, "name"),
            (long long)get_int(checkpoint, "step"), (long long)get_int(checkpoint, "size"),
            render_age(age, get_string(checkpoint, "time")));
    if (from[0] != '\0')
        fprintf(to, "; went on from %s", from);
    fprintf(to, "\n");
}

/* Prints why the ranks began again the last time. */
static void print_before(const json_t *training, FILE *to)
{
    char *before = render_text(get_string(training, "before"));

    if (before[0] != '\0')
        fprintf(to, "before     %s\n", before);
    free(before);
}

static void print_failures(const json_t *training, FILE *to)
{
    long long failures = (long long)get_int(training, "failures"), left = (long long)get_int(training, "retries_left");

    if (failures > 0 && json_is_integer(json_object_get(training, "retries_left")))
        fprintf(to, "failures   %lld, %lld %s left\n", failures, left, left == 1 ? "retry" : "retries");
}

void report_status(const json_t *ensemble, FILE *to)
{
    const json_t *training = ensemble_training(ensemble), *rate = json_object_get(ensemble, "rate"), *value;
    const char *name;
    char text[RENDER_SIZE];
    double eta = ensemble_eta(ensemble);

    print_ensemble_head(ensemble, to);
    fprintf(to, "submitted  %s\n", render_age(text, get_string(ensemble, "created")));
    fprintf(to, "members    %lld%s:", (long long)get_int(ensemble, "count"),
            json_is_true(json_object_get(ensemble, "open")) ? " so far" : "");
    print_states(json_object_get(ensemble, "members"), to);
    if (get_int(ensemble, "diverged") > 0)
        fprintf(to, "diverged   %lld\n", (long long)get_int(ensemble, "diverged"));
    print_lineage(ensemble, to);
    fprintf(to, "width      %lld on %s\n", (long long)get_int(ensemble, "width"), get_string(ensemble, "adapter"));
    print_elastic(json_object_get(ensemble, "elastic"), to);
    print_notice(ensemble, to);
    if (!ensemble_ended(ensemble) && json_number_value(rate) > 0) {
        fprintf(to, "rate       %s members/s", render_number(text, rate));
        fprintf(to, eta >= 0 ? ", %s to go\n" : "\n", render_duration(text, eta));
    }
    if (training) {
        char *reason = render_text(get_reason(training));

        fprintf(to, "training   %lld: ", (long long)get_int(training, "id"));
        print_state(get_string(training, "state"), to);
        fprintf(to, "%s%s, ranks %lld", reason[0] ? ": " : "", reason, (long long)get_int(training, "ranks"));
        if (get_int(training, "wanted_ranks") > 0)
            fprintf(to, " (%lld wanted)", (long long)get_int(training, "wanted_ranks"));
        fprintf(to, ", generation %lld, on %s\n", (long long)get_int(training, "generation"),
                get_string(training, "adapter"));
        print_before(training, to);
        print_failures(training, to);
        fprintf(to, "samples    %lld received, %lld unique, %lld duplicates, %lld drawn\n",
                (long long)get_int(training, "received"), (long long)get_int(training, "unique"),
                (long long)get_int(training, "duplicates"), (long long)get_int(training, "drawn"));
        fprintf(to, "batches    %lld, %s samples/s\n", (long long)get_int(training, "batches"),
                render_number(text, json_object_get(training, "samples_per_second")));
        free(reason);
        print_checkpoint(training, to);
        json_object_foreach (json_object_get(training, "metrics"), name, value) {
            char *shown = render_text(name);

            fprintf(to, "%-10s %s\n", shown, render_metric(text, value));
            free(shown);
        }
    }
    if (get_string(ensemble, "dir")[0])
        fprintf(to, "directory  %s\n", get_string(ensemble, "dir"));
}

static void print_members(const json_t *ensemble)
{
#define STATE_HEADER(symbol, name, ...) ">" name,
    const char *headers[] = {"members", MEMBER_STATES(STATE_HEADER) NULL};
    struct table *table = table_create(headers);

    table_cellf(table, "%lld", (long long)get_int(ensemble, "count"));
    for (enum member_state state = 0; state < MEMBER_STATE_COUNT; state++)
        table_cellf(table, "%lld", (long long)ensemble_members(ensemble, member_state_name(state)));
    table_print(table, stdout);
    table_destroy(table);
}

/* Returns the mean of samples a second over the whole training, "-" if it is not known. It counts the samples that
 * went into batches; if the daemon does not count repeated draws, only unique samples. `repeats` in the table's header
 * says which. */
static char *mean_rate(char buf[RENDER_SIZE], const json_t *training)
{
    double seconds = render_seconds_between(training, "started", "ended");
    json_t *rate = seconds > 0
                       ? json_real((double)(get_int(training, "drawn") + get_int(training, "repeats")) / seconds)
                       : json_null();

    render_number(buf, rate);
    json_decref(rate);
    return buf;
}

static void print_samples(const json_t *training)
{
    bool repeats = json_is_integer(json_object_get(training, "repeats"));
    const char *headers[] = {"training",
                             ">samples received",
                             ">unique",
                             ">duplicates",
                             ">drawn",
                             ">batches",
                             repeats ? ">samples/s (mean)" : ">unique samples/s (mean)",
                             NULL};
    const char *keys[] = {"received", "unique", "duplicates", "drawn", "batches", NULL};
    struct table *table = table_create(headers);
    char text[RENDER_SIZE];

    table_cell(table, get_string(training, "state"));
    for (const char **key = keys; *key; key++)
        table_cellf(table, "%lld", (long long)get_int(training, *key));
    table_cell(table, mean_rate(text, training));
    table_print(table, stdout);
    table_destroy(table);
}

static void add_metric_changes(struct table *table, const char *name, const json_t *buckets)
{
    const json_t *whole = json_array_get(buckets, 0), *first = json_object_get(whole, "first"),
                 *last = json_object_get(whole, "last");
    char text[RENDER_SIZE];

    if (whole == NULL)
        return;
    table_cell(table, name);
    table_cell(table, render_metric(text, first));
    table_cell(table, render_metric(text, last));
    if (json_number_value(first) > 0 && json_number_value(last) > 0)
        table_cellf(table, "%.3g", json_number_value(first) / json_number_value(last));
    else
        table_cell(table, "-");
}

/* Prints the first and the last value of each metric. */
static void print_training_metrics(struct cli *cli, const json_t *training)
{
    const char *headers[] = {"metric", ">first", ">last", ">first/last", NULL};
    struct table *table;
    const char *name;
    json_t *value;

    if (json_object_size(json_object_get(training, "metrics")) == 0)
        return;
    table = table_create(headers);
    json_object_foreach (json_object_get(training, "metrics"), name, value) {
        char *escaped = client_escape(name);
        char *path =
            xasprintf("/v1/trainings/%lld/metrics?name=%s&buckets=1", (long long)get_int(training, "id"), escaped);
        json_t *reply = NULL;
        struct error err;

        if (client_get(cli->client, path, &reply, NULL, &err) == 0)
            add_metric_changes(table, name,
                               json_object_get(json_object_get(json_object_get(reply, "series"), name), "buckets"));
        json_decref(reply);
        free(path);
        free(escaped);
    }
    putchar('\n');
    table_print(table, stdout);
    table_destroy(table);
}

/* Prints a curl line. It takes the path over. */
static void print_curl(const struct cli *cli, char *path)
{
    char *line = client_curl_line(cli->client, path);

    printf("  %s\n", line);
    free(line);
    free(path);
}

void report_final(struct cli *cli, const json_t *ensemble)
{
    const json_t *training = ensemble_training(ensemble);
    long long id = get_int(ensemble, "id");

    print_ensemble_head(ensemble, stdout);
    if (ensemble_held(ensemble))
        print_notice(ensemble, stdout);
    putchar('\n');
    print_members(ensemble);
    if (training) {
        char *reason = render_text(get_string(training, "reason"));

        putchar('\n');
        print_samples(training);
        print_training_metrics(cli, training);
        if (reason[0])
            printf("\ntraining %s: %s\n", get_string(training, "state"), reason);
        free(reason);
    }
    failures_print(cli, id);
    printf("\nThe same over HTTP:\n");
    print_curl(cli, xasprintf("/v1/ensembles/%lld", id));
    print_curl(cli, xasprintf("/v1/ensembles/%lld/members", id));
    if (training)
        print_curl(cli, xasprintf("/v1/trainings/%lld/metrics?buckets=20", (long long)get_int(training, "id")));
}
