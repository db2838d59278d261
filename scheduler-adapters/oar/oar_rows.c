/* Reads the jobs that `oarstat -J` prints, and interprets them. */
#include "oar.h"

#include <stretto/xalloc.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum batch_phase phase;
    bool is_ending, takes_signals;
} states[] = {
    {"Waiting", BATCH_WAITS, false, false},
    {"Hold", BATCH_WAITS, false, false},
    {"toAckReservation", BATCH_WAITS, false, false},
    {"toLaunch", BATCH_RUNS, false, false}, /* it has its nodes, and nothing can stop its start */
    {"Launching", BATCH_RUNS, false, false},
    {"Running", BATCH_RUNS, false, true},
    {"Suspended", BATCH_RUNS, false, false},
    {"Resuming", BATCH_RUNS, false, false},
    {"Finishing", BATCH_RUNS, true, false},
    {"toError", BATCH_OVER, false, false},
    {"Error", BATCH_OVER, false, false},
    {"Terminated", BATCH_OVER, false, false},
};

/* Events at the end of a job, the most specific first, from OAR's log. `from`: the beginning of the description, if the
 * type alone is not enough. */
static const struct {
    const char *type, *from;
    bool node_lost;
} events[] = {
    {"WALLTIME", "", false},
    {"BESTEFFORT_KILL", "", true},
    {"CHECKPOINT", "User oar (metasched)", true}, /* to make room for others */
    {"WORKING_DIRECTORY", "", false},
    {"OUTPUT_FILES", "", false},
    {"PING_CHECKER_NODE_SUSPECTED", "", true},
    {"CPUSET_ERROR", "", true},
    {"PROLOGUE_ERROR", "", true},
    {"CANNOT_WRITE_NODE_FILE", "", true},
    {"CANNOT_WRITE_PID_FILE", "", true},
    {"USER_SHELL", "", true},
    {"CANNOT_CREATE_TMP_DIRECTORY", "", true},
    {"SSH_TRANSFER_TIMEOUT", "", true},
    {"BAD_HASHTABLE_DUMP", "", true},
    {"LAUNCHING_OAREXEC_TIMEOUT", "", true},
    {"SERVER_PROLOGUE_TIMEOUT", "", true},
    {"SERVER_PROLOGUE_EXIT_CODE_ERROR", "", true},
    {"SERVER_PROLOGUE_ERROR", "", true},
    {"EXIT_VALUE_OAREXEC", "", true},
    {"EXTERMINATE_JOB", "", true},
    {"FRAG_JOB_REQUEST", "User oar ", true}, /* by the server itself, because its nodes are gone */
    {"FRAG_JOB_REQUEST", "", false},
};
static const size_t n_events = sizeof events / sizeof *events;

/* Messages of waiting jobs that will never run. */
static const char *const hopeless[] = {"ill never run", "cannot run", "does not exist", NULL};

static int find_oar_state(const char *name)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i].name, name) == 0)
            return (int)i;
    return -1;
}

bool oar_is_held(const struct batch_row *row)
{
    return strcmp(row->state, "Hold") == 0;
}

bool oar_takes_signals(const struct batch_row *row)
{
    int state = find_oar_state(row->state);

    return state >= 0 && states[state].takes_signals;
}

/* Some numbers are strings, as in OAR's database. */
static int64_t oar_number(const json_t *job, const char *key)
{
    const json_t *value = json_object_get(job, key);

    return json_is_string(value) ? strtoll(json_string_value(value), NULL, 10) : json_integer_value(value);
}

static const char *text(struct batch_rows *rows, const json_t *value)
{
    const char *string = json_string_value(value);

    return string != NULL ? batch_rows_keep(rows, string, strlen(string)) : "";
}

static bool is_event(const json_t *event, size_t i)
{
    const char *type = json_string_value(json_object_get(event, "type"));
    const char *what = json_string_value(json_object_get(event, "description"));

    return type != NULL && what != NULL && strcmp(type, events[i].type) == 0 &&
           strncmp(what, events[i].from, strlen(events[i].from)) == 0;
}

/* Returns "TYPE: DESCRIPTION" of the most specific event; "" if no event explains the end. */
static const char *explain_events(struct batch_rows *rows, const json_t *list)
{
    const json_t *event;
    char said[300];
    size_t at;

    for (size_t i = 0; i < n_events; i++) {
        json_array_foreach ((json_t *)list, at, event) {
            if (!is_event(event, i))
                continue;
            snprintf(said, sizeof said, "%s: %s", events[i].type,
                     json_string_value(json_object_get(event, "description")));
            said[strcspn(said, "\n")] = '\0';
            return batch_rows_keep(rows, said, strlen(said));
        }
    }
    return "";
}

/* Returns whether the message only repeats the request: "R=1,W=0:1:0,J=B (Karma=0.000)". */
static bool is_summary(const char *message)
{
    return strncmp(message, "R=", 2) == 0;
}

/* Returns whether the row lacks its events. The newest job of all users is always listed, but not in full. If it is
 * ours, and over, it is left out, so that it is asked for in full. */
static bool is_half_told(const struct batch_row *row, const json_t *job)
{
    return row->phase == BATCH_OVER && json_object_get(job, "events") == NULL;
}

static void add_oar_row(struct batch_rows *rows, const char *id, const json_t *job)
{
    const char *owner = json_string_value(json_object_get(job, "owner"));
    const char *name = json_string_value(json_object_get(job, "name"));
    const json_t *exit_code = json_object_get(job, "exit_code");
    struct batch_row *row;
    int state;

    if (name == NULL || owner == NULL || (rows->user != NULL && strcmp(owner, rows->user) != 0))
        return;
    row = batch_rows_add(rows);
    row->id = batch_rows_keep(rows, id, strlen(id));
    row->name = row->label = batch_rows_keep(rows, name, strlen(name));
    row->state = text(rows, json_object_get(job, "state"));
    row->host = text(rows, json_array_get(json_object_get(job, "assigned_network_address"), 0));
    row->submitted = oar_number(job, "submissionTime");
    row->started = oar_number(job, "startTime");
    row->task = oar_number(job, "array_index") - 1;
    row->runs = oar_number(job, "resubmit_job_id") != 0; /* OAR's own second try of another job */
    state = find_oar_state(row->state);
    row->phase = state < 0 ? BATCH_RUNS : states[state].phase;
    row->is_ending = state >= 0 && states[state].is_ending;
    row->reason = row->phase == BATCH_OVER ? explain_events(rows, json_object_get(job, "events")) : "";
    if (row->reason[0] == '\0')
        row->reason = text(rows, json_object_get(job, "message"));
    if (row->phase == BATCH_WAITS && (oar_is_held(row) || is_summary(row->reason)))
        row->reason = oar_is_held(row) ? "Hold" : "";
    row->has_exit_status = json_is_integer(exit_code) || json_is_string(exit_code);
    row->exit_status = (int)oar_number(job, "exit_code");
    if (is_half_told(row, job))
        batch_rows_drop(rows);
}

/* Reads {"12": {"Job_Id": "12", …}, …}. */
int oar_parse(struct batch_rows *rows, char *listed, size_t size, struct error *err)
{
    json_error_t where;
    json_t *jobs, *job;
    const char *id;

    batch_text_clean(listed, size);
    if (listed[strspn(listed, " \n\r\t")] == '\0')
        return rows->kind == OAR_ROWS_MAY_BE_NONE
                   ? 0
                   : error_set(err, "batch_system_unsure", "oarstat: it lists no job, not even the newest");
    jobs = json_loadb(listed, size, 0, &where);
    if (!json_is_object(jobs)) {
        json_decref(jobs);
        return error_set(err, "batch_system_unsure", "oarstat: its list cannot be read (line %d): %.200s", where.line,
                         where.text);
    }
    json_object_foreach (jobs, id, job)
        add_oar_row(rows, id, job);
    json_decref(jobs);
    return 0;
}

/* Returns the index in `events`; -1: no event explains the end. */
static int find_event(const char *reason)
{
    for (size_t i = 0; i < n_events; i++) {
        size_t n = strlen(events[i].type);

        if (strncmp(reason, events[i].type, n) == 0 && strncmp(reason + n, ": ", 2) == 0 &&
            strncmp(reason + n + 2, events[i].from, strlen(events[i].from)) == 0)
            return (int)i;
    }
    return -1;
}

/* Explains an end. exit_code is a status as from wait(2). */
static void oar_explain_end(const struct batch_row *row, struct adapter_status *status)
{
    int event = find_event(row->reason), by = row->exit_status & 127, code = row->exit_status >> 8;

    if (row->started == 0 &&
        (strncmp(row->reason, "FRAG_JOB_REQUEST", 16) == 0 || strstr(row->reason, "killed by Leon") != NULL)) {
        snprintf(status->reason, sizeof status->reason, "cancelled before it started");
    } else if (event >= 0) {
        snprintf(status->reason, sizeof status->reason, "OAR: %s", row->reason);
        status->node_lost = events[event].node_lost;
    } else if (row->has_exit_status && by != 0) {
        snprintf(status->reason, sizeof status->reason, "OAR: FAILED, by signal %d", by);
    } else if (row->has_exit_status && code != 0) {
        snprintf(status->reason, sizeof status->reason, "OAR: FAILED (exit status %d)", code);
    } else if (strcmp(row->state, "Terminated") != 0) {
        snprintf(status->reason, sizeof status->reason, "OAR: %s (%s)", row->state, row->reason);
    }
}

void oar_status(const struct adapter *a, const struct batch_row *row, struct adapter_status *status)
{
    batch_row_status(row, status);
    if (row->phase == BATCH_WAITS)
        status->never = batch_says(row->reason, hopeless);
    else if (row->phase == BATCH_OVER)
        oar_explain_end(row, status);
}
