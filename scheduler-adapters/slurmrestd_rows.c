/* Reads /jobs of Slurm and of its accounts, in all versions of the API. Numbers were texts, then numbers, then objects.
 * A state was one word, then a list of a word and flags. */
#include "scheduler-adapters/slurmrestd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Flags that a state can have besides its word: the first of these is what squeue would show. */
static const char *const flags[] = {"COMPLETING", "STAGE_OUT",   "CONFIGURING",   "RESIZING",
                                    "REQUEUED",   "REQUEUE_FED", "REQUEUE_HOLD",  "SPECIAL_EXIT",
                                    "STOPPED",    "REVOKED",     "RESV_DEL_HOLD", "SIGNALING"};

int64_t slurmrestd_number(const json_t *value)
{
    const char *text = json_string_value(value);
    char *end;
    int64_t number;

    if (json_is_object(value))
        return json_is_true(json_object_get(value, "set")) && !json_is_true(json_object_get(value, "infinite"))
                   ? slurmrestd_number(json_object_get(value, "number"))
                   : -1;
    if (text != NULL) {
        number = strtoll(text, &end, 10);
        return end != text && *end == '\0' && number >= 0 ? number : -1;
    }
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value) : -1;
}

static const char *keep_text(struct batch_rows *rows, const char *text)
{
    return text != NULL && text[0] != '\0' ? batch_rows_keep(rows, text, strlen(text)) : "";
}

static const char *keep_of(struct batch_rows *rows, const json_t *job, const char *key)
{
    return keep_text(rows, json_string_value(json_object_get(job, key)));
}

static const char *job_state_word(const json_t *state)
{
    const json_t *word;
    size_t i;

    if (!json_is_array(state))
        return json_string_value(state);
    for (size_t flag = 0; flag < sizeof flags / sizeof *flags; flag++)
        json_array_foreach (state, i, word)
            if (json_is_string(word) && strcmp(json_string_value(word), flags[flag]) == 0)
                return flags[flag];
    return json_string_value(json_array_get(state, 0));
}

/* Compares the user's number if the answer has no name. */
static bool is_job_ours(const struct batch_rows *rows, const json_t *job)
{
    const char *user = json_string_value(json_object_get(job, "user_name"));

    if (user != NULL && user[0] != '\0')
        return rows->user == NULL || strcmp(user, rows->user) == 0;
    return rows->kind >= 0 && slurmrestd_number(json_object_get(job, "user_id")) == rows->kind;
}

static int64_t at_least_0(int64_t number)
{
    return number > 0 ? number : 0;
}

/* Writes "12", or "12_3", or "12_" for a row that stands for the waiting tasks of an array; "" if there is no id. */
static void make_id(const json_t *job, const json_t *array_id, const json_t *task_id, char *out, size_t size)
{
    int64_t id = slurmrestd_number(json_object_get(job, "job_id")), array = slurmrestd_number(array_id);
    int64_t task = slurmrestd_number(task_id);

    out[0] = '\0';
    if (array > 0 && task >= 0)
        snprintf(out, size, "%lld_%lld", (long long)array, (long long)task);
    else if (array > 0)
        snprintf(out, size, "%lld_", (long long)array);
    else if (id > 0)
        snprintf(out, size, "%lld", (long long)id);
}

/* Splits a list such as "3-9,12", or "3-9,12,1...%20", which is cut off: of 20 tasks, those beyond 12 may wait. The
 * tasks that may wait are written to `guess`. */
static void split_list(const json_t *job, char *list, size_t size, char *guess, size_t guess_size)
{
    const char *text = json_string_value(json_object_get(job, "array_task_string")), *dots;
    int64_t count = slurmrestd_number(json_object_get(job, "array_max_tasks")), next;
    char *last;

    guess[0] = '\0';
    snprintf(list, size, "%s", text != NULL ? text : "");
    list[strcspn(list, "%")] = '\0';
    dots = strstr(list, "...");
    if (dots == NULL)
        return;
    list[dots - list] = '\0';
    last = strrchr(list, ','); /* the text after it may be half a number */
    list[last != NULL ? last - list : 0] = '\0';
    last = strrchr(list, ',');
    last = last != NULL ? last + 1 : list;
    next = strpbrk(last, "0123456789") != NULL
               ? strtoll(strchr(last, '-') != NULL ? strchr(last, '-') + 1 : last, NULL, 10) + 1
               : 0;
    if (next < count)
        snprintf(guess, guess_size, "%lld-%lld", (long long)next, (long long)count - 1);
}

/* Replaces the last row, an array, by rows for its tasks. */
static void expand_rest_array(struct batch_rows *rows, const json_t *job)
{
    const struct batch_row array = rows->row[rows->n - 1];
    char list[2048], guess[48];
    size_t first = rows->n - 1;

    split_list(job, list, sizeof list, guess, sizeof guess);
    rows->row[first].indices = list;
    batch_rows_expand(rows);
    if (guess[0] != '\0') {
        size_t guessed = rows->n;

        *batch_rows_add(rows) = array;
        rows->row[guessed].indices = guess;
        batch_rows_expand(rows);
        for (size_t i = guessed; i < rows->n; i++)
            rows->row[i].is_guessed = true;
    }
    for (size_t i = first; i < rows->n; i++) { /* the whole array may have been cancelled */
        rows->row[i].indices = "";
        rows->row[i].phase = array.phase;
    }
}

static void parse_job(struct batch_rows *rows, const json_t *job)
{
    const char *state = job_state_word(json_object_get(job, "job_state"));
    struct batch_row *row;
    char id[64];

    make_id(job, json_object_get(job, "array_job_id"), json_object_get(job, "array_task_id"), id, sizeof id);
    if (state == NULL || id[0] == '\0' || !is_job_ours(rows, job))
        return;
    row = batch_rows_add(rows);
    row->name = row->label = keep_of(rows, job, "name");
    row->id = keep_text(rows, id);
    row->state = keep_text(rows, state);
    row->submitted = at_least_0(slurmrestd_number(json_object_get(job, "submit_time")));
    row->started = at_least_0(slurmrestd_number(json_object_get(job, "start_time")));
    row->nodes = slurm_word_or_nothing(keep_of(rows, job, "nodes"));
    row->host = slurm_word_or_nothing(keep_of(rows, job, "batch_host"));
    row->reason = slurm_word_or_nothing(keep_of(rows, job, "state_reason"));
    slurm_row_set_state(row);
    if (id[strlen(id) - 1] == '_')
        expand_rest_array(rows, job);
}

/* Adds a job of the accounts. The accounts have nothing useful about tasks that have never become jobs of their own. */
static void parse_accounted(struct batch_rows *rows, const json_t *job)
{
    const json_t *state = json_object_get(job, "state"), *times = json_object_get(job, "time");
    const json_t *array = json_object_get(job, "array");
    const char *word = job_state_word(json_object_get(state, "current"));
    const char *user = json_string_value(json_object_get(job, "user"));
    const char *by = json_string_value(json_object_get(job, "kill_request_user"));
    struct batch_row *row;
    char id[64], whole[160];

    make_id(job, json_object_get(array, "job_id"), json_object_get(array, "task_id"), id, sizeof id);
    if (word == NULL || id[0] == '\0' || id[strlen(id) - 1] == '_' || user == NULL || rows->user == NULL ||
        strcmp(user, rows->user) != 0)
        return;
    snprintf(whole, sizeof whole, "%.60s%s%.60s", word, by != NULL && by[0] != '\0' ? " by " : "",
             by != NULL ? by : "");
    row = batch_rows_add(rows);
    row->name = row->label = keep_of(rows, job, "name");
    row->id = keep_text(rows, id);
    row->state = keep_text(rows, whole);
    row->submitted = at_least_0(slurmrestd_number(json_object_get(times, "submission")));
    row->started = at_least_0(slurmrestd_number(json_object_get(times, "start")));
    row->nodes = row->host = slurm_word_or_nothing(keep_of(rows, job, "nodes"));
    row->reason = slurm_word_or_nothing(keep_of(rows, state, "reason"));
    slurm_row_set_state(row);
}

/* Returns the list of jobs, which the caller frees. A list without jobs may also come from a server that could not ask
 * Slurm; then it has errors. */
static json_t *load_jobs(const char *text, size_t size, struct error *err)
{
    struct slurmrestd_said said;
    json_error_t where;
    json_t *doc = json_loadb(text, size, 0, &where), *jobs = json_object_get(doc, "jobs");

    if (doc == NULL) {
        error_set(err, "batch_system_unsure", "slurmrestd: its list is cut off, or no JSON: %s (line %d)", where.text,
                  where.line);
    } else if (!json_is_array(jobs)) {
        error_set(err, "batch_system_unsure", "slurmrestd: its answer has no list of jobs");
    } else if (json_array_size(json_object_get(doc, "errors")) > 0) {
        slurmrestd_read_said(&(struct rest_result){.body = (char *)text, .size = size}, &said);
        error_set(err, "batch_system_unsure", "slurmrestd: %s", said.text);
    } else {
        json_incref(jobs);
        json_decref(doc);
        return jobs;
    }
    json_decref(doc);
    return NULL;
}

int slurmrestd_parse(struct batch_rows *rows, char *text, size_t size, struct error *err)
{
    json_t *jobs = load_jobs(text, size, err), *job;
    size_t i;

    json_array_foreach (jobs, i, job)
        (json_is_object(json_object_get(job, "state")) ? parse_accounted : parse_job)(rows, job);
    json_decref(jobs);
    return jobs != NULL ? 0 : -1;
}

int64_t slurmrestd_count(struct batch_rows *rows, const char *text, size_t size, int64_t since, struct error *err)
{
    json_t *jobs = load_jobs(text, size, err), *job;
    int64_t count = jobs != NULL ? 0 : -1;
    size_t i;

    json_array_foreach (jobs, i, job) {
        size_t before = rows->n;

        parse_job(rows, job);
        if (rows->n > before &&
            (rows->row[before].phase != BATCH_OVER || slurmrestd_number(json_object_get(job, "end_time")) >= since))
            count += (int64_t)(rows->n - before);
    }
    json_decref(jobs);
    return count;
}
