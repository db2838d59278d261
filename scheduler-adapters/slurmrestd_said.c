#include "scheduler-adapters/slurmrestd.h"

#include <stdio.h>
#include <string.h>

/* Prefers the description: some errors have only "Unspecified error" besides it. */
static const char *words_of(const json_t *error)
{
    const char *description = json_string_value(json_object_get(error, "description"));
    const char *words = json_string_value(json_object_get(error, "error"));

    return description != NULL && description[0] != '\0' ? description : words != NULL ? words : "";
}

static int number_of_error(const json_t *error)
{
    json_int_t number = json_integer_value(json_object_get(error, "error_number"));

    return (int)(number != 0 ? number : json_integer_value(json_object_get(error, "error_code")));
}

static void add_said(struct slurmrestd_said *said, const char *words)
{
    size_t n = strlen(said->text);

    if (words[0] == '\0' || strstr(said->text, words) != NULL)
        return;
    snprintf(said->text + n, sizeof said->text - n, "%s%s", n > 0 ? "; " : "", words);
}

void slurmrestd_read_said(const struct rest_result *result, struct slurmrestd_said *said)
{
    json_t *doc = result->size <= SLURMRESTD_WORDS_MAX ? json_loadb(result->body, result->size, 0, NULL) : NULL;
    const json_t *error;
    size_t i;

    *said = (struct slurmrestd_said){0};
    json_array_foreach (json_object_get(doc, "errors"), i, error) {
        if (said->number <= 0)
            said->number = number_of_error(error);
        add_said(said, words_of(error));
    }
    if (doc == NULL) /* plain text, whose first line says enough */
        snprintf(said->text, sizeof said->text, "%.*s", (int)strcspn(result->body, "\r\n"), result->body);
    for (char *c = said->text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    json_decref(doc);
}

/* Returns whether the token may be the cause: some servers report that it has expired only in their own log. */
static bool may_be_the_token(const struct slurmrestd *a, const struct rest_result *result,
                             const struct slurmrestd_said *said)
{
    return a->token_file != NULL && (result->status == 401 || result->status == 403 || said->number < 0);
}

int slurmrestd_check(const struct slurmrestd *a, const struct rest_result *result, struct error *err)
{
    struct slurmrestd_said said;

    if (result->status == 200)
        return 0;
    if (result->status == 0)
        return error_set(err, "batch_system_unsure", "%s", result->why);
    slurmrestd_read_said(result, &said);
    if (may_be_the_token(a, result, &said))
        return error_set(err, "batch_system_unsure",
                         "slurmrestd: %s (HTTP status %ld); is the token in %.200s one of %.60s's, and still valid?",
                         said.text, result->status, a->token_file, a->user);
    return error_set(err, "batch_system_unsure", "slurmrestd: %s (HTTP status %ld)", said.text, result->status);
}
