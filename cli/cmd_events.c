#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/watch.h"
#include "common/jsonx.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY_EVERY_MS 500
#define NOW (INT64_MAX / 2) /* the value for --after now */

struct events {
    int64_t ensemble, after;
    const char *kind;
    bool follow, json;
    int64_t seen; /* all events up to this id are printed */
    char *line;   /* the line of the stream that has not come whole yet */
    size_t length;
};

static error_t parse_events_option(int key, char *arg, struct argp_state *state)
{
    struct events *events = state->input;

    switch (key) {
    case 'f': events->follow = true; return 0;
    case 'k': events->kind = arg; return 0;
    case 'a': events->after = strcmp(arg, "now") == 0 ? NOW : arg_number(state, arg, "--after", 0); return 0;
    case ARGP_KEY_ARG:
        if (events->ensemble)
            argp_error(state, "one ID at a time, please");
        events->ensemble = arg_ensemble(state, arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"follow", 'f', NULL, 0, "go on as more happens, until Ctrl-C", 0},
    {"kind", 'k', "KIND", 0, "only those of this kind, such as attempt.ended", 0},
    {"after", 'a', "NUMBER|now", 0, "only those after the event of this number, or from now on", 0},
    {0}};
static const struct argp argp = {
    options, parse_events_option, "[ID]", "What has happened to ensemble ID, or to all, oldest first.", 0, 0, 0};

/* Prints a line, on a terminal no longer than that is wide. */
static void print_line(const char *line, const char *detail)
{
    int columns = terminal_width(), room = columns - text_width(line);
    bool cut = columns > 0 && text_width(detail) > room;
    size_t head = cut ? text_fit(line, columns - 1) : strlen(line);
    size_t tail = !cut ? strlen(detail) : room > 1 ? text_fit(detail, room - 1) : 0;

    printf("%.*s%s%.*s%s%s\n", (int)head, line, style_on(STYLE_QUIET), (int)tail, detail, cut ? terminal_dots() : "",
           style_off(STYLE_QUIET));
}

/* Prints an event for people: on a terminal by this machine's clock, elsewhere with the time as the API has it. */
static void print_for_people(const json_t *event)
{
    const json_t *detail = json_object_get(event, "detail"), *member = json_object_get(event, "member");
    char *text = json_is_object(detail) ? jsonx_dumps(detail, JSON_COMPACT) : NULL,
         *shown = render_text(text ? text : ""), *line;
    char who[48], clock[RENDER_SIZE];
    const char *time = get_string(event, "time");

    if (json_is_integer(member))
        snprintf(who, sizeof who, "%lld.%lld", (long long)get_int(event, "ensemble"),
                 (long long)json_integer_value(member));
    else
        snprintf(who, sizeof who, "%lld", (long long)get_int(event, "ensemble"));
    line = xasprintf("%lld  %s  %-12s %-20s ", (long long)get_int(event, "id"),
                     terminal_width() > 0 ? render_clock(clock, time) : time, who, get_string(event, "kind"));
    print_line(line, shown);
    free(line);
    free(shown);
    free(text);
}

/* Prints an event as one line for people or, with --json, as the API's object. */
static void print_event(const struct events *events, const json_t *event)
{
    if (events->json) {
        jsonx_print(event, stdout);
        putchar('\n');
    } else {
        print_for_people(event);
    }
}

/* Handles the data of an event in the stream. A `gap` is reported in words, and events that were printed before are
 * skipped. */
static void take_data(struct events *events, const char *data)
{
    json_t *event = json_loads(data, 0, NULL);
    int64_t id = get_int(event, "id");

    if (strcmp(get_string(event, "kind"), "gap") == 0)
        fprintf(stderr, "stretto: events before %lld are no longer kept\n",
                (long long)get_int(json_object_get(event, "detail"), "oldest"));
    else if (event != NULL && id > events->seen) {
        print_event(events, event);
        events->seen = id;
    }
    json_decref(event);
}

/* Splits a piece of the stream into lines, of which the last may not be whole. The data of an event are one line, so
 * that its end proves that all of it has come. */
static ssize_t take_events(void *cookie, const char *piece, size_t size)
{
    struct events *events = cookie;

    events->line = xrealloc(events->line, events->length + size + 1, 1);
    memcpy(events->line + events->length, piece, size);
    events->length += size;
    for (char *end; (end = memchr(events->line, '\n', events->length)) != NULL;) {
        size_t n = (size_t)(end + 1 - events->line);

        *end = '\0';
        if (strncmp(events->line, "data:", 5) == 0)
            take_data(events, events->line + 5);
        memmove(events->line, end + 1, events->length - n);
        events->length -= n;
    }
    fflush(stdout);
    return (ssize_t)size;
}

static char *events_path(const struct events *events)
{
    char *kind = events->kind ? client_escape(events->kind) : NULL;
    char *path = xasprintf("/v1/events?limit=1000&after=%lld%s%s", (long long)events->seen, kind ? "&kind=" : "",
                           kind ? kind : ""),
         *with;

    free(kind);
    if (events->ensemble == 0)
        return path;
    with = xasprintf("%s&ensemble=%lld", path, (long long)events->ensemble);
    free(path);
    return with;
}

/* Prints the events that there are already. */
static int catch_up(struct cli *cli, struct events *events, struct error *err)
{
    bool more = true;

    while (more) {
        char *path = events_path(events);
        json_t *page = NULL, *event;
        const char *next;
        size_t i;
        int rc = client_get(cli->client, path, &page, NULL, err);

        free(path);
        if (rc < 0)
            return -1;
        if (get_int(page, "oldest") > events->seen + 1 && events->seen > 0)
            fprintf(stderr, "stretto: events before %lld are no longer kept\n", (long long)get_int(page, "oldest"));
        json_array_foreach (json_object_get(page, "events"), i, event) {
            print_event(events, event);
            events->seen = get_int(event, "id");
        }
        next = json_string_value(json_object_get(page, "next"));
        more = next != NULL;
        if (more)
            events->seen = strtoll(next, NULL, 10);
        json_decref(page);
    }
    return 0;
}

/* Checks that the ensemble exists. Otherwise a wrong number would go unnoticed, since nothing ever happens to it. */
static int check_ensemble(struct cli *cli, const struct events *events, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld", (long long)events->ensemble);
    int rc = events->ensemble != 0 ? client_get(cli->client, path, NULL, NULL, err) : 0;

    free(path);
    return rc;
}

/* Finds the newest event. A stream that goes on from it loses nothing even if its connection breaks at once. */
static int find_newest_event(struct cli *cli, struct events *events, struct error *err)
{
    json_t *page = NULL;
    int rc = client_get(cli->client, "/v1/events?limit=1&after=4611686018427387903", &page, NULL, err);

    events->seen = get_int(page, "newest");
    json_decref(page);
    return rc;
}

/* Follows the stream, over restarts of the daemon, from the last printed event on. */
static int follow_events(struct cli *cli, struct events *events, struct error *err)
{
    FILE *stream = fopencookie(events, "w", (cookie_io_functions_t){.write = take_events});
    bool away = false;
    int rc;

    setvbuf(stream, NULL, _IONBF, 0);
    do {
        char *path = events_path(events);

        events->length = 0; /* the daemon sends the half line again, in full */
        rc = client_stream(cli->client, path, stream, err);
        free(path);
        if (rc < 0 && !watch_may_pass(err))
            break;
        if (rc < 0 && !away)
            fprintf(stderr, "stretto: %s; trying until it is back (Ctrl-C to stop trying)\n", err->text);
        away = rc < 0;
    } while (!watch_sleep(TRY_EVERY_MS));
    fclose(stream);
    return rc < 0 && !watch_may_pass(err) ? -1 : error_set(err, CLIENT_INTERRUPTED, "interrupted");
}

int cmd_events(struct cli *cli, int argc, char **argv)
{
    struct events events = {0};
    struct error err;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &events, &err) < 0)
        return cli_fail(&err);
    events.json = cli->json;
    events.seen = events.after;
    rc = check_ensemble(cli, &events, &err);
    if (rc == 0 && events.after == NOW)
        rc = find_newest_event(cli, &events, &err);
    if (rc == 0 && events.follow) {
        watch_begin(cli);
        rc = follow_events(cli, &events, &err);
    } else if (rc == 0) {
        rc = catch_up(cli, &events, &err);
    }
    free(events.line);
    if (rc < 0 && strcmp(err.code, CLIENT_INTERRUPTED) == 0)
        return CLI_INTERRUPTED;
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}
