/* What squeue and sacct print, and the job completion log holds: a job a line. */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The reason comes last, since it may hold anything. */
const char slurm_squeue_format[] = "%j|%i|%T|%V|%S|%B|%N|%r";
const char slurm_sacct_format[] = "JobName,JobID,State,Submit,Start,NodeList,NodeList,Reason";
enum { FIELD_NAME, FIELD_ID, FIELD_STATE, FIELD_SUBMITTED, FIELD_STARTED, FIELD_HOST, FIELD_NODES, FIELD_REASON, FIELDS };

static const struct {
    const char *state;
    enum slurm_phase phase;
    bool node_lost;
} states[] = {
    {"PENDING", SLURM_WAITS, false},
    {"CONFIGURING", SLURM_WAITS, false}, /* it has nodes, that are not up yet */
    {"REQUEUED", SLURM_WAITS, false},
    {"REQUEUE_HOLD", SLURM_WAITS, false},
    {"REQUEUE_FED", SLURM_WAITS, false},
    {"SPECIAL_EXIT", SLURM_WAITS, false},
    {"RESV_DEL_HOLD", SLURM_WAITS, false},
    {"RUNNING", SLURM_RUNS, false},
    {"COMPLETING", SLURM_RUNS, false}, /* its processes are being ended */
    {"SUSPENDED", SLURM_RUNS, false},
    {"STOPPED", SLURM_RUNS, false},
    {"SIGNALING", SLURM_RUNS, false},
    {"STAGE_OUT", SLURM_RUNS, false},
    {"RESIZING", SLURM_RUNS, false},
    {"COMPLETED", SLURM_OVER, false},
    {"FAILED", SLURM_OVER, false},
    {"CANCELLED", SLURM_OVER, false}, /* sacct adds by whom */
    {"TIMEOUT", SLURM_OVER, false},
    {"DEADLINE", SLURM_OVER, false},
    {"OUT_OF_MEMORY", SLURM_OVER, false},
    {"REVOKED", SLURM_OVER, false},
    {"NODE_FAIL", SLURM_OVER, true},
    {"BOOT_FAIL", SLURM_OVER, true},
    {"PREEMPTED", SLURM_OVER, true},
};

/* What a job can wait for that no job before it can make come: in Slurm's words, the whole word. */
static const char *const hopeless[] = {
    "PartitionConfig", "PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints", "DependencyNeverSatisfied",
    "InvalidAccount", "InvalidQOS", "AccountNotAllowed", "QOSNotAllowed", "ReservationDeleted", "ReservationInvalid",
    "MaxMemPerLimit", "AssocMaxCpuPerJobLimit", "AssocMaxNodePerJobLimit", "AssocMaxMemPerJob", "AssocMaxGRESPerJob",
    "AssocMaxWallDurationPerJobLimit", "AssocMaxCpuMinutesPerJobLimit", "QOSMaxCpuPerJobLimit", "QOSMaxNodePerJobLimit",
    "QOSMaxMemoryPerJob", "QOSMaxGRESPerJob", "QOSMaxWallDurationPerJobLimit", "QOSMaxCpuMinutesPerJobLimit",
    "QOSMinCpuNotSatisfied", "QOSMinNode", "QOSMinGRES", "QOSMinMemory",
};

static const size_t n_states = sizeof states / sizeof *states;

/* -1 where it is a word that we do not know. */
static int find_state(const char *word)
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

static const char *word_or_nothing(const char *word)
{
    return is_something(word) ? word : "";
}

/* By SLURM_TIME_FORMAT=%s it is a number. */
static int64_t seconds(const char *word)
{
    char *end;
    long long n = strtoll(word, &end, 10);

    return end != word && *end == '\0' && n > 0 ? n : 0;
}

static struct slurm_row *row_add(struct slurm_rows *rows, size_t *size)
{
    if (rows->n == *size) {
        *size = *size == 0 ? 64 : 2 * *size;
        rows->row = xrealloc(rows->row, *size, sizeof *rows->row);
    }
    rows->row[rows->n] = (struct slurm_row){.place = rows->n, .host = "", .nodes = "", .reason = ""};
    return &rows->row[rows->n++];
}

/* One that we cannot read says nothing, and is not there. A job of a state that is new to us goes on. */
static void parse_line(struct slurm_rows *rows, size_t *size, char *line)
{
    char *field[FIELDS];
    struct slurm_row *row;
    int state;

    for (size_t i = 0; i < FIELDS; i++) {
        field[i] = line;
        if (i + 1 == FIELDS)
            break;
        line = strchr(line, '|');
        if (line == NULL)
            return;
        *line++ = '\0';
    }
    state = find_state(field[FIELD_STATE]);
    row = row_add(rows, size);
    row->name = row->label = field[FIELD_NAME];
    row->id = field[FIELD_ID];
    row->state = field[FIELD_STATE];
    row->submitted = seconds(field[FIELD_SUBMITTED]);
    row->started = seconds(field[FIELD_STARTED]);
    row->host = word_or_nothing(field[FIELD_HOST]);
    row->nodes = word_or_nothing(field[FIELD_NODES]);
    row->reason = word_or_nothing(field[FIELD_REASON]);
    row->phase = state < 0 ? SLURM_RUNS : states[state].phase;
}

int slurm_rows_parse(struct slurm_rows *rows, enum slurm_format format, char *text, struct error *err)
{
    size_t size = 0, n = strlen(text);
    char *rest = NULL;

    *rows = (struct slurm_rows){.text = text};
    if (n > 0 && text[n - 1] != '\n')
        return error_set(err, "batch_system_unsure", "%s: its list is cut off",
                         format == SLURM_ROWS_SQUEUE ? "squeue" : "sacct");
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        parse_line(rows, &size, line);
    slurm_rows_sort(rows);
    return 0;
}

/* The value of ` KEY=` up to the next blank; cuts it in place. */
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

/* "JobId=5 UserId=me(1) … Name=NAME JobState=FAILED … StartTime=… NodeList=n1 …": from the back, since each cut ends the line. */
static void parse_record(struct slurm_rows *rows, size_t *size, char *line)
{
    const char *task = record_value(line, " ArrayTaskId=");
    char *array = record_value(line, " ArrayJobId=");
    const char *submitted = record_value(line, " SubmitTime="), *nodes = record_value(line, " NodeList=");
    const char *started = record_value(line, " StartTime="), *state = record_value(line, " JobState=");
    const char *name = record_value(line, " Name="), *id = strncmp(line, "JobId=", 6) == 0 ? line + 6 : NULL;
    char both[96];
    struct slurm_row *row;
    int known = state != NULL ? find_state(state) : -1;

    if (name == NULL || id == NULL || known < 0)
        return;
    line[strcspn(line, " ")] = '\0';
    if (array != NULL && task != NULL && strlen(array) + strlen(task) < 40) { /* there is room for it, where " ArrayTaskId=" was */
        snprintf(both, sizeof both, "%s_%s", array, task);
        id = strcpy(array, both);
    }
    row = row_add(rows, size);
    row->name = row->label = name;
    row->id = id;
    row->state = state;
    row->submitted = record_time(submitted);
    row->started = record_time(started);
    row->nodes = row->host = nodes != NULL ? word_or_nothing(nodes) : "";
    row->phase = states[known].phase;
}

int slurm_rows_parse_record(struct slurm_rows *rows, char *text)
{
    size_t size = 0;
    char *rest = NULL;

    *rows = (struct slurm_rows){.text = text};
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        parse_record(rows, &size, line);
    slurm_rows_sort(rows);
    return 0;
}

static int compare(const void *a, const void *b)
{
    static const int rank[] = {[SLURM_RUNS] = 0, [SLURM_WAITS] = 1, [SLURM_OVER] = 2};
    const struct slurm_row *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order == 0)
        order = rank[x->phase] - rank[y->phase];
    if (order == 0 && x->phase == SLURM_OVER) /* what ended last says most: an earlier one may have been taken out */
        return x->submitted != y->submitted ? (x->submitted < y->submitted) - (x->submitted > y->submitted)
                                            : (x->place < y->place) - (x->place > y->place);
    if (order == 0)
        order = (x->submitted > y->submitted) - (x->submitted < y->submitted);
    if (order == 0)
        order = strlen(x->id) != strlen(y->id) ? (strlen(x->id) > strlen(y->id)) - (strlen(x->id) < strlen(y->id))
                                               : strcmp(x->id, y->id);
    return order;
}

/* A task of an array "STEMBASE+" with the id "ARRAY_TASK" is the job "STEM(BASE+TASK)". */
static void name_tasks(struct slurm_rows *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++) {
        struct slurm_row *row = &rows->row[i];
        size_t end = strlen(row->label), stem;
        const char *task = strchr(row->id, '_');

        if (end == 0 || row->label[end - 1] != '+' || task == NULL || end > 63)
            continue;
        if (rows->names == NULL)
            rows->names = xcalloc(rows->n, sizeof *rows->names);
        for (stem = end - 1; stem > 0 && row->label[stem - 1] >= '0' && row->label[stem - 1] <= '9'; stem--)
            ;
        snprintf(rows->names[n], sizeof rows->names[n], "%.*s%lld", stem < 40 ? (int)stem : 40, row->label,
                 strtoll(row->label + stem, NULL, 10) + strtoll(task + 1, NULL, 10));
        row->name = rows->names[n++];
    }
}

void slurm_rows_sort(struct slurm_rows *rows)
{
    name_tasks(rows);
    if (rows->n > 1)
        qsort(rows->row, rows->n, sizeof *rows->row, compare);
}

void slurm_rows_free(struct slurm_rows *rows)
{
    free(rows->row);
    free(rows->text);
    free(rows->names);
    *rows = (struct slurm_rows){0};
}

struct slurm_row *slurm_rows_find(const struct slurm_rows *rows, const char *name, size_t *n)
{
    size_t low = 0, high = rows->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(rows->row[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*n = 0; low + *n < rows->n && strcmp(rows->row[low + *n].name, name) == 0; ++*n)
        ;
    return *n > 0 ? &rows->row[low] : NULL;
}

static bool can_never_run(const struct slurm_row *row)
{
    size_t n = strcspn(row->reason, ", ");

    if (strcmp(row->state, "PENDING") != 0)
        return false;
    for (size_t i = 0; i < sizeof hopeless / sizeof *hopeless; i++)
        if (strlen(hopeless[i]) == n && strncmp(hopeless[i], row->reason, n) == 0)
            return true;
    return false;
}

static void explain_end(const struct slurm_row *row, struct adapter_status *status)
{
    int state = find_state(row->state);

    if (strncmp(row->state, "CANCELLED", 9) == 0 && row->nodes[0] == '\0')
        snprintf(status->reason, sizeof status->reason, "cancelled before it started");
    else if (strcmp(row->state, "COMPLETED") != 0)
        snprintf(status->reason, sizeof status->reason, "Slurm: %s%s%s%s", row->state, row->reason[0] ? " (" : "",
                 row->reason, row->reason[0] ? ")" : "");
    status->node_lost = state >= 0 && states[state].node_lost;
}

void slurm_status(const struct slurm_row *row, struct adapter_status *status)
{
    snprintf(status->scheduler_id, sizeof status->scheduler_id, "%s", row->id);
    switch (row->phase) {
    case SLURM_WAITS:
        status->state = ADAPTER_JOB_QUEUED;
        status->never = can_never_run(row);
        snprintf(status->reason, sizeof status->reason, "%s", row->reason);
        break;
    case SLURM_RUNS:
        status->state = ADAPTER_JOB_RUNNING;
        status->started_ms = row->started * 1000;
        snprintf(status->host, sizeof status->host, "%s", row->host);
        break;
    case SLURM_OVER:
        status->state = ADAPTER_JOB_ENDED;
        if (row->nodes[0] != '\0') { /* else it never started, whatever its start time says */
            status->started_ms = row->started * 1000;
            snprintf(status->host, sizeof status->host, "%s", row->host);
        }
        explain_end(row, status);
        break;
    }
}
