/* What `qstat -f -F json` of OpenPBS and PBS Pro prints. */
#include "scheduler-adapters/pbs.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* The length of the UTF-8 sequence that begins here; 0: none does. */
static size_t sequence(const unsigned char *at, size_t left)
{
    size_t n = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : 0;

    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
        (at[0] == 0xf4 && at[1] > 0x8f) || (at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe))
        return 0;
    return n;
}

void pbs_text_clean(char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = sequence((const unsigned char *)text + i, size - i);

        if (n == 0 || (c < ' ' && c != '\n' && c != '\t' && c != '\r')) {
            text[i++] = '?';
            continue;
        }
        i += n;
    }
}

/* Numbers of old versions stand where others have strings, and the reverse. */
static void set_value(struct pbs_row *row, const char *attribute, const json_t *value)
{
    char number[32];

    if (json_is_string(value)) {
        pbs_row_set(row, attribute, json_string_value(value));
    } else if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        pbs_row_set(row, attribute, number);
    } else if (json_is_object(value) && strcmp(attribute, "Variable_List") == 0) {
        const json_t *name = json_object_get(value, PBS_NAME_VARIABLE);

        if (json_is_string(name))
            pbs_row_set(row, PBS_NAME_VARIABLE, json_string_value(name));
    }
}

int pbs_json_parse(struct pbs_rows *rows, char *text, size_t size, struct error *err)
{
    json_error_t wrong;
    json_t *root = json_loadb(text, size, JSON_ALLOW_NUL, &wrong), *jobs = json_object_get(root, "Jobs"), *job, *value;
    const char *id, *attribute;

    if (!json_is_object(root)) {
        json_decref(root);
        return error_set(err, "batch_system_unsure", "qstat: its list cannot be read (line %d): %s", wrong.line, wrong.text);
    }
    json_object_foreach (jobs, id, job) {
        struct pbs_row *row = pbs_rows_add(rows, id);

        json_object_foreach (job, attribute, value)
            set_value(row, attribute, value);
        pbs_rows_end(rows);
    }
    json_decref(root);
    return 0;
}
