/* Reads the output of `qstat -f -F json` of OpenPBS and PBS Pro. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Accepts numbers for strings and the reverse, since versions differ. */
static void set_json_attribute(struct batch_rows *rows, const char *attribute, const json_t *value)
{
    char number[32];

    if (json_is_string(value)) {
        pbs_row_set(rows, attribute, json_string_value(value));
    } else if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        pbs_row_set(rows, attribute, number);
    } else if (json_is_object(value) && strcmp(attribute, "Variable_List") == 0) {
        const json_t *name = json_object_get(value, PBS_NAME_VARIABLE);

        if (json_is_string(name))
            pbs_row_set(rows, PBS_NAME_VARIABLE, json_string_value(name));
    }
}

static void take_jobs(struct batch_rows *rows, json_t *jobs)
{
    const char *id, *attribute;
    json_t *job, *value;

    json_object_foreach (jobs, id, job) {
        pbs_rows_add(rows, id);
        json_object_foreach (job, attribute, value)
            set_json_attribute(rows, attribute, value);
        pbs_rows_end(rows);
    }
}

static bool is_json_value(const char *token, size_t n)
{
    json_t *value = json_loadb(token, n, JSON_DECODE_ANY, NULL);

    json_decref(value);
    return value != NULL;
}

/* Writes the token as a JSON value, or as a string if it is no valid value. */
static char *add_token(char *out, const char *token, size_t n)
{
    bool is_bare = is_json_value(token, n);

    if (!is_bare)
        *out++ = '"';
    for (size_t i = 0; i < n; i++) {
        if (!is_bare && (token[i] == '"' || token[i] == '\\'))
            *out++ = '\\';
        *out++ = token[i];
    }
    if (!is_bare)
        *out++ = '"';
    return out;
}

/* Repairs the JSON of versions until 23, which print invalid numbers (005, .5, from users' variables) and invalid
 * escapes (\' and \,). The caller frees the result. */
static char *mend(const char *at, const char *end)
{
    char *text = xcalloc(3 * (size_t)(end - at) + 3, 1), *out = text, last = '\0';
    bool in_string = false;

    *out++ = '{';
    while (at < end) {
        if (in_string && *at == '\\' && at + 1 < end) {
            if (strchr("\"\\/bfnrtu", at[1]) != NULL)
                *out++ = *at;
            *out++ = at[1];
            at += 2;
            continue;
        }
        if (!in_string && last == ':' && strchr(" \t\n\"{[", *at) == NULL) {
            size_t n = strcspn(at, ",}\n");

            n = n < (size_t)(end - at) ? n : (size_t)(end - at);
            out = add_token(out, at, n);
            at += n;
            last = '\0';
            continue;
        }
        in_string ^= *at == '"';
        if (strchr(" \t\n", *at) == NULL)
            last = *at;
        *out++ = *at++;
    }
    *out = '}';
    return text;
}

/* Returns the beginning of the next job, a line `"12.server":{`; NULL: there is none. */
static const char *next_job(const char *text)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        const char *at = line + strspn(line, " \t\n"), *rest;

        line = at;
        if (*at != '"' || at[1] < '0' || at[1] > '9')
            continue;
        rest = at + 1 + strspn(at + 1, "0123456789");
        rest += strcspn(rest, "\"\n");
        if (*rest++ != '"' || *rest++ != ':')
            continue;
        rest += strspn(rest, " \t");
        if (*rest == '{')
            return at;
    }
    return NULL;
}

static bool mentions_ours(const char *at, const char *end)
{
    return memmem(at, (size_t)(end - at), PBS_NAME_VARIABLE, strlen(PBS_NAME_VARIABLE)) != NULL;
}

/* Parses job by job, so that a user's odd variables spoil only that user's job; -1 if a job of the daemon cannot be
 * read. */
static int parse_each(struct batch_rows *rows, const char *text)
{
    for (const char *at = next_job(text), *next; at != NULL; at = next) {
        const char *end;
        json_t *jobs;
        char *mended;

        next = next_job(at + 1);
        end = next != NULL ? next : at + strlen(at);
        while (end > at && strchr(" \t\n,", end[-1]) != NULL)
            end--;
        mended = mend(at, end);
        /* the last job is followed by the closing brackets of the whole */
        jobs = json_loads(mended, JSON_DISABLE_EOF_CHECK, NULL);
        free(mended);
        if (jobs == NULL && mentions_ours(at, end))
            return -1;
        take_jobs(rows, jobs);
        json_decref(jobs);
    }
    return 0;
}

/* Returns whether the text ends with the bracket that closes the whole, alone on the last line. */
static bool is_whole_json(const char *text, size_t size)
{
    while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
        size--;
    return size >= 2 && text[0] == '{' && text[size - 1] == '}' && text[size - 2] == '\n';
}

int pbs_json_parse(struct batch_rows *rows, char *text, size_t size, struct error *err)
{
    json_error_t wrong;
    json_t *root = json_loadb(text, size, 0, &wrong);

    if (json_is_object(root))
        take_jobs(rows, json_object_get(root, "Jobs"));
    json_decref(root);
    if (root != NULL || (is_whole_json(text, size) && parse_each(rows, text) == 0))
        return 0;
    batch_rows_free(rows);
    return error_set(err, "batch_system_unsure", "qstat: its list cannot be read (line %d): %s", wrong.line,
                     wrong.text);
}
