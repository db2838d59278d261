/* Reads the jobs that qstat reports, by the names of its attributes, and what these mean. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define SIGNAL_MAX 64

/* The meanings of Exit_status if PBS itself ended the job, or could not begin it. */
static const struct {
    enum pbs_kind kind;
    int status;
    const char *meaning;
    bool node_lost;
} statuses[] = {
    {PBS_KIND_OPENPBS, -1, "it could not be started", false},
    {PBS_KIND_OPENPBS, -2, "it could not be started", false},
    {PBS_KIND_OPENPBS, -3, "it could not be started, for now", true},
    {PBS_KIND_OPENPBS, -4, "ended when its node was started again", true},
    {PBS_KIND_OPENPBS, -5, "ended when its node was started again", true},
    {PBS_KIND_OPENPBS, -6, "ended when its node was started again", true},
    {PBS_KIND_OPENPBS, -10, "its user is not known on the node", false},
    {PBS_KIND_OPENPBS, -11, "put back into the queue", true},
    {PBS_KIND_OPENPBS, -14, "one of its nodes was lost", true},
    {PBS_KIND_OPENPBS, -20, "its node was lost", true},
    {PBS_KIND_OPENPBS, -24, "it used more CPUs than it had asked for", false},
    {PBS_KIND_OPENPBS, -25, "it used more CPUs than it had asked for", false},
    {PBS_KIND_OPENPBS, -26, "it used more virtual memory than it had asked for", false},
    {PBS_KIND_OPENPBS, -27, "it used more memory than it had asked for", false},
    {PBS_KIND_OPENPBS, -28, "it used more CPU time than it had asked for", false},
    {PBS_KIND_OPENPBS, -29, "its walltime was over", false},
    {PBS_KIND_OPENPBS, 254, "its shell could not be started", false},
    {PBS_KIND_TORQUE, -1, "it could not be started", false},
    {PBS_KIND_TORQUE, -2, "it could not be started", false},
    {PBS_KIND_TORQUE, -3, "it could not be started, for now", true},
    {PBS_KIND_TORQUE, -4, "ended when its node was started again", true},
    {PBS_KIND_TORQUE, -5, "ended when its node was started again", true},
    {PBS_KIND_TORQUE, -6, "ended when its node was started again", true},
    {PBS_KIND_TORQUE, -8, "its shell could not be started", false},
    {PBS_KIND_TORQUE, -9, "its output could not be opened", false},
    {PBS_KIND_TORQUE, -10, "it used more memory than it had asked for", false},
    {PBS_KIND_TORQUE, -11, "its walltime was over", false},
    {PBS_KIND_TORQUE, -12, "it used more CPU time than it had asked for", false},
    {PBS_KIND_TORQUE, -13, "it could not be started, for now", true},
};

struct batch_row *pbs_rows_add(struct batch_rows *rows, const char *id)
{
    struct batch_row *row = batch_rows_add(rows);

    row->id = batch_rows_keep(rows, id, strlen(id));
    return row;
}

static bool is_array(const struct batch_row *row)
{
    return strstr(row->id, "[]") != NULL;
}

/* An id such as "12[3].server". */
static bool is_subjob(const struct batch_row *row)
{
    return strchr(row->id, '[') != NULL && !is_array(row);
}

/* Expands an array: OpenPBS reports waiting subjobs only by the array's indices. It does not report how often they ran,
 * which may be once for a subjob that was put back. */
static void expand_pbs_array(struct batch_rows *rows, struct batch_row *row)
{
    row->runs = row->started > 0;
    row->started = 0;
    row->has_exit_status = false;
    if (strncmp(row->reason, "Job Array ", 10) == 0) /* "Job Array Began at": no reason why the others wait */
        row->reason = "";
    batch_rows_expand(rows);
}

/* Removes the array's attributes from a subjob that is over and has no host: such a subjob is listed with the array's,
 * except state and comment. A subjob whose node was lost has no host either, but an Exit_status of its own: an array's
 * is never below 0. */
static void forget_array(struct batch_row *row)
{
    if (row->phase != BATCH_OVER || row->host[0] != '\0' || (row->has_exit_status && row->exit_status < 0))
        return;
    row->has_exit_status = false;
    row->started = 0;
}

/* Completes the last row. Old versions of OpenPBS list a waiting subjob a second time, by its own id: that row is
 * dropped. */
void pbs_rows_end(struct batch_rows *rows)
{
    struct batch_row *row = &rows->row[rows->n - 1];
    bool is_openpbs = rows->kind == PBS_KIND_OPENPBS;

    if (row->name[0] == '\0' || row->id[0] == '\0' || row->is_foreign)
        batch_rows_drop(rows);
    else if (is_array(row) && rows->kind != PBS_KIND_OPENPBS_ARRAYS)
        expand_pbs_array(rows, row);
    else if (is_openpbs && is_subjob(row) && row->state[0] == 'Q')
        batch_rows_drop(rows);
    else if (is_openpbs && is_subjob(row))
        forget_array(row);
}

/* Treats a job with an unknown letter as running. M: the job was moved to another server, and may run. */
static enum batch_phase phase_of(char state)
{
    return strchr("QHWT", state) != NULL ? BATCH_WAITS : strchr("FCX", state) != NULL ? BATCH_OVER : BATCH_RUNS;
}

/* Reads "1382109600", or "Sun Nov 22 04:58:35 2026", which is always in English. 0: the text is neither. */
static int64_t parse_time(const char *text)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm = {.tm_isdst = -1};
    char month[4], *end;
    const char *found;
    long long seconds = strtoll(text, &end, 10);

    if (end != text && *end == '\0')
        return seconds > 0 ? seconds : 0;
    if (sscanf(text, "%*3s %3s %d %d:%d:%d %d", month, &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &tm.tm_year) !=
        6)
        return 0;
    found = strstr(months, month);
    if (found == NULL || strlen(month) != 3 || (found - months) % 3 != 0)
        return 0;
    tm.tm_mon = (int)(found - months) / 3;
    tm.tm_year -= 1900;
    return (int64_t)mktime(&tm);
}

/* Finds the name in Torque's form of the variables, "PBS_O_HOME=/home/me,STRETTO_RUNNER=st-1,…". */
static void set_from_variables(struct batch_rows *rows, const char *value)
{
    static const char wanted[] = PBS_NAME_VARIABLE "=";

    while (value != NULL && strncmp(value, wanted, sizeof wanted - 1) != 0) {
        value = strchr(value, ',');
        value = value != NULL ? value + 1 : NULL;
    }
    if (value != NULL)
        pbs_row_set(rows, PBS_NAME_VARIABLE, value + sizeof wanted - 1);
}

/* Compares with an owner such as "me@login1". */
static bool is_owned_by(const char *owner, const char *user)
{
    size_t n = strcspn(owner, "@");

    return user == NULL || (strlen(user) == n && strncmp(owner, user, n) == 0);
}

void pbs_row_set(struct batch_rows *rows, const char *attribute, const char *value)
{
    struct batch_row *row = &rows->row[rows->n - 1];

    if (strcmp(attribute, PBS_NAME_VARIABLE) == 0) {
        row->name = row->label = batch_rows_keep(rows, value, strcspn(value, ","));
    } else if (strcmp(attribute, "Job_Id") == 0) {
        row->id = batch_rows_keep(rows, value, strlen(value));
    } else if (strcmp(attribute, "Variable_List") == 0) {
        set_from_variables(rows, value);
    } else if (strcmp(attribute, "Job_Owner") == 0) {
        row->is_foreign = !is_owned_by(value, rows->user);
    } else if (strcmp(attribute, "job_state") == 0) {
        row->state = batch_rows_keep(rows, value, 1);
        row->phase = value[0] != '\0' ? phase_of(value[0]) : BATCH_RUNS;
        row->is_ending = value[0] == 'E';
    } else if (strcasecmp(attribute, "exit_status") == 0) {
        row->exit_status = atoi(value);
        row->has_exit_status = true;
    } else if (strcmp(attribute, "comment") == 0) {
        row->reason = batch_rows_keep(rows, value, strlen(value));
    } else if (strcmp(attribute, "exec_host") == 0) { /* the first host of "n1/0*2+n2/0*2" */
        row->host = batch_rows_keep(rows, value, strcspn(value, "/+*"));
    } else if (strcmp(attribute, "array_indices_remaining") == 0) {
        row->indices = batch_rows_keep(rows, value, strlen(value));
    } else if (strcmp(attribute, "ctime") == 0) {
        row->submitted = parse_time(value);
    } else if (strcmp(attribute, "stime") == 0 || strcmp(attribute, "start_time") == 0) {
        row->started = parse_time(value);
    } else if (strcmp(attribute, "run_count") == 0 || strcmp(attribute, "start_count") == 0) {
        row->runs = atoi(value);
    }
}

static void pbs_explain_end(enum pbs_kind kind, const struct batch_row *row, struct adapter_status *status)
{
    int code = row->exit_status;

    /* the comment is all that is known of it */
    if (!row->has_exit_status && is_subjob(row) && strncmp(row->reason, "Subjob ", 7) == 0) {
        if (strcmp(row->reason, "Subjob terminated") == 0)
            snprintf(status->reason, sizeof status->reason, "PBS: deleted (%s)", row->reason);
        else if (strcmp(row->reason, "Subjob finished") != 0)
            snprintf(status->reason, sizeof status->reason, "PBS: %s", row->reason);
        return;
    }
    if (!row->has_exit_status && row->started == 0) {
        snprintf(status->reason, sizeof status->reason, "cancelled before it started");
        return;
    }
    if (!row->has_exit_status) { /* it had run before, waited again, and was deleted then */
        snprintf(status->reason, sizeof status->reason, "PBS: put back into the queue, and taken out of it");
        status->node_lost = true;
        return;
    }
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].kind == kind && statuses[i].status == code) {
            snprintf(status->reason, sizeof status->reason, "PBS: %s (Exit_status %d)", statuses[i].meaning, code);
            status->node_lost = statuses[i].node_lost;
            return;
        }
    if (code == 256 + 15)
        snprintf(status->reason, sizeof status->reason, "PBS: deleted (Exit_status %d)", code);
    else if (code > 256)
        snprintf(status->reason, sizeof status->reason, "PBS: its shell was ended by signal %d (Exit_status %d)",
                 code - 256, code);
    else if (code > 128 && code <= 128 + SIGNAL_MAX)
        snprintf(status->reason, sizeof status->reason, "PBS: FAILED, by signal %d (Exit_status %d)", code - 128, code);
    else if (code != 0)
        snprintf(status->reason, sizeof status->reason, "PBS: FAILED (Exit_status %d)", code);
}

static bool can_never_run(const struct batch_row *row)
{
    return strncmp(row->reason, "Can Never Run", 13) == 0 ||
           (row->state[0] == 'H' && strstr(row->reason, "too many failed attempts") != NULL);
}

void pbs_status(enum pbs_kind kind, const struct batch_row *row, struct adapter_status *status)
{
    batch_row_status(row, status);
    if (row->phase == BATCH_WAITS) /* exit status and host of a job that was put back belong to its last try */
        status->never = can_never_run(row);
    else if (row->phase == BATCH_OVER)
        pbs_explain_end(kind, row, status);
}
