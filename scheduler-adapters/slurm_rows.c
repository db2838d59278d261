/* Reads the output of squeue and sacct, and the job completion log: one job in each line. */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The formats of squeue and sacct. The reason is the last field, since it may contain the separator. */
const char slurm_squeue_format[] = "%j|%i|%T|%V|%S|%B|%N|%r";
const char slurm_sacct_format[] = "JobName,JobID,State,Submit,Start,NodeList,NodeList,Reason";
/* clang-format off */
enum { FIELD_NAME, FIELD_ID, FIELD_STATE, FIELD_SUBMITTED, FIELD_STARTED, FIELD_HOST, FIELD_NODES, FIELD_REASON,
      FIELDS };
/* clang-format on */

static const struct {
    const char *state;
    enum batch_phase phase;
    bool node_lost;
} states[] = {
    {"PENDING", BATCH_WAITS, false},      {"CONFIGURING", BATCH_WAITS, false}, /* its nodes are not up yet */
    {"REQUEUED", BATCH_WAITS, false},     {"REQUEUE_HOLD", BATCH_WAITS, false},  {"REQUEUE_FED", BATCH_WAITS, false},
    {"SPECIAL_EXIT", BATCH_WAITS, false}, {"RESV_DEL_HOLD", BATCH_WAITS, false}, {"RUNNING", BATCH_RUNS, false},
    {"COMPLETING", BATCH_RUNS, false}, /* its processes are being ended */
    {"SUSPENDED", BATCH_RUNS, false},     {"STOPPED", BATCH_RUNS, false},        {"SIGNALING", BATCH_RUNS, false},
    {"STAGE_OUT", BATCH_RUNS, false},     {"RESIZING", BATCH_RUNS, false},       {"COMPLETED", BATCH_OVER, false},
    {"FAILED", BATCH_OVER, false},        {"CANCELLED", BATCH_OVER, false}, /* sacct adds who cancelled it */
    {"TIMEOUT", BATCH_OVER, false},       {"DEADLINE", BATCH_OVER, false},       {"OUT_OF_MEMORY", BATCH_OVER, false},
    {"REVOKED", BATCH_OVER, false},       {"NODE_FAIL", BATCH_OVER, true},       {"BOOT_FAIL", BATCH_OVER, true},
    {"PREEMPTED", BATCH_OVER, true},
};

/* Reasons for waiting that no end of another job can remove: Slurm's words, compared as whole words. */
/* clang-format off */
static const char *const hopeless[] = {
    "PartitionConfig", "BadConstraints", "DependencyNeverSatisfied", "InvalidAccount", "InvalidQOS",
    "AccountNotAllowed", "QOSNotAllowed", "ReservationDeleted", "ReservationInvalid", NULL,
};

/* The same, if a job is beyond a limit, which the site may change. */
static const char *const limits[] = {
    "PartitionTimeLimit", "PartitionNodeLimit", "MaxMemPerLimit", "AssocMaxCpuPerJobLimit", "AssocMaxNodePerJobLimit",
    "AssocMaxMemPerJob", "AssocMaxGRESPerJob", "AssocMaxWallDurationPerJobLimit", "AssocMaxCpuMinutesPerJobLimit",
    "QOSMaxCpuPerJobLimit", "QOSMaxNodePerJobLimit", "QOSMaxMemoryPerJob", "QOSMaxGRESPerJob",
    "QOSMaxWallDurationPerJobLimit", "QOSMaxCpuMinutesPerJobLimit", "QOSMinCpuNotSatisfied", "QOSMinNode",
    "QOSMinGRES", "QOSMinMemory", NULL,
};
/* clang-format on */

static const size_t n_states = sizeof states / sizeof *states;

/* Returns the index in `states`; -1 for an unknown word. */
static int find_slurm_state(const char *word)
{
    size_t n = strcspn(word, " +");

    for (size_t i = 0; i < n_states; i++)
        if (strlen(states[i].state) == n && strncmp(states[i].state, word, n) == 0)
            return (int)i;
    return -1;
}

static bool is_something(const char *word)
{
    return word[0] != '\0' && strcmp(word, "n/a") != 0 && strcmp(word, "N/A") != 0 && strcmp(word, "(null)") != 0 &&
           strcmp(word, "None") != 0 && strcmp(word, "None assigned") != 0 && strcmp(word, "Unknown") != 0;
}

const char *slurm_word_or_nothing(const char *word)
{
    return is_something(word) ? word : "";
}

/* Sets what follows from the row's state. A job of an unknown state counts as running. */
void slurm_row_set_state(struct batch_row *row)
{
    int state = find_slurm_state(row->state);

    row->phase = state < 0 ? BATCH_RUNS : states[state].phase;
    row->is_ending = strcmp(row->state, "COMPLETING") == 0;
}

/* Reads a time, which SLURM_TIME_FORMAT=%s makes a number. */
static int64_t time_of_word(const char *word)
{
    char *end;
    long long n = strtoll(word, &end, 10);

    return end != word && *end == '\0' && n > 0 ? n : 0;
}

/* Adds the row of a line. A line that cannot be read is left out. */
static void parse_job_line(struct batch_rows *rows, char *line)
{
    char *field[FIELDS];
    struct batch_row *row;

    for (size_t i = 0; i < FIELDS; i++) {
        field[i] = line;
        if (i + 1 == FIELDS)
            break;
        line = strchr(line, '|');
        if (line == NULL)
            return;
        *line++ = '\0';
    }
    row = batch_rows_add(rows);
    row->name = row->label = field[FIELD_NAME];
    row->id = field[FIELD_ID];
    row->state = field[FIELD_STATE];
    row->submitted = time_of_word(field[FIELD_SUBMITTED]);
    row->started = time_of_word(field[FIELD_STARTED]);
    row->host = slurm_word_or_nothing(field[FIELD_HOST]);
    row->nodes = slurm_word_or_nothing(field[FIELD_NODES]);
    row->reason = slurm_word_or_nothing(field[FIELD_REASON]);
    slurm_row_set_state(row);
}

int slurm_parse(struct batch_rows *rows, char *text, size_t size, struct error *err)
{
    char *rest = NULL;

    if (size > 0 && text[size - 1] != '\n')
        return error_set(err, "batch_system_unsure", "%s: its list is cut off",
                         rows->kind == SLURM_ROWS_SQUEUE ? "squeue" : "sacct");
    text = batch_rows_keep(rows, text, size);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        parse_job_line(rows, line);
    return 0;
}

/* Returns the value of ` KEY=` up to the next blank, which becomes the end of the line. */
static char *record_value(char *line, const char *key)
{
    char *at = strstr(line, key), *end;

    if (at == NULL)
        return NULL;
    at += strlen(key);
    end = at + strcspn(at, " \n");
    *end = '\0';
    return at;
}

static int64_t record_time(const char *word)
{
    struct tm tm = {.tm_isdst = -1};

    return word != NULL && strptime(word, "%Y-%m-%dT%H:%M:%S", &tm) != NULL ? (int64_t)mktime(&tm) : 0;
}

/* Reads "JobId=5 UserId=me(1) … Name=NAME JobState=FAILED … StartTime=… NodeList=n1 …", from the last value to
 * the first, since each reading cuts the line there. */
static void parse_record(struct batch_rows *rows, char *line)
{
    const char *task = record_value(line, " ArrayTaskId=");
    char *array = record_value(line, " ArrayJobId=");
    const char *submitted = record_value(line, " SubmitTime="), *nodes = record_value(line, " NodeList=");
    const char *started = record_value(line, " StartTime="), *state = record_value(line, " JobState=");
    const char *name = record_value(line, " Name="), *id = strncmp(line, "JobId=", 6) == 0 ? line + 6 : NULL;
    char both[96];
    struct batch_row *row;
    int known = state != NULL ? find_slurm_state(state) : -1;

    if (name == NULL || id == NULL || known < 0)
        return;
    line[strcspn(line, " ")] = '\0';
    /* the longer id fits where " ArrayTaskId=" was */
    if (array != NULL && task != NULL && strlen(array) + strlen(task) < 40) {
        snprintf(both, sizeof both, "%s_%s", array, task);
        id = strcpy(array, both);
    }
    row = batch_rows_add(rows);
    row->name = row->label = name;
    row->id = id;
    row->state = state;
    row->submitted = record_time(submitted);
    row->started = record_time(started);
    row->nodes = row->host = nodes != NULL ? slurm_word_or_nothing(nodes) : "";
    row->phase = states[known].phase;
}

void slurm_parse_record(struct batch_rows *rows, const char *log, size_t size)
{
    char *text = batch_rows_keep(rows, log, size), *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        parse_record(rows, line);
}

static bool waits_for_one_of(const struct batch_row *row, const char *const *reasons)
{
    size_t n = strcspn(row->reason, ", ");

    if (strcmp(row->state, "PENDING") != 0)
        return false;
    for (; *reasons != NULL; reasons++)
        if (strlen(*reasons) == n && strncmp(*reasons, row->reason, n) == 0)
            return true;
    return false;
}

static void slurm_explain_end(const struct batch_row *row, struct adapter_status *status)
{
    int state = find_slurm_state(row->state);

    if (strncmp(row->state, "CANCELLED", 9) == 0 && row->nodes[0] == '\0')
        snprintf(status->reason, sizeof status->reason, "cancelled before it started");
    else if (strcmp(row->state, "COMPLETED") != 0)
        snprintf(status->reason, sizeof status->reason, "Slurm: %s%s%s%s", row->state, row->reason[0] ? " (" : "",
                 row->reason, row->reason[0] ? ")" : "");
    status->node_lost = state >= 0 && states[state].node_lost;
}

void slurm_status(const struct adapter *a, const struct batch_row *row, struct adapter_status *status)
{
    batch_row_status(row, status);
    if (row->phase == BATCH_WAITS) {
        status->limited = waits_for_one_of(row, limits);
        status->never = status->limited || waits_for_one_of(row, hopeless);
    } else if (row->phase == BATCH_OVER) {
        slurm_explain_end(row, status);
    }
    if (row->phase == BATCH_OVER && row->nodes[0] == '\0') { /* it never started, even if it has a start time */
        status->started_ms = 0;
        status->host[0] = '\0';
    }
}
