#include "scheduler-adapters/options.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The options of a list, word by word. */
struct option_reading {
    const struct option_syntax *syntax;
    const json_t *extra;
    const char *at, *code;
    size_t i;        /* of the word */
    bool wants_more; /* the last option may have its value in the next word */
    struct error *err;
};

static int refuse_option(const struct option_reading *r, const char *why)
{
    char place[200];

    snprintf(place, sizeof place, "%.150s/%zu", r->at, r->i);
    return error_at(r->err, r->code, place, "\"%.60s\" cannot be given to %s here: %s",
                    json_string_value(json_array_get(r->extra, r->i)), r->syntax->program, why);
}

/* Checks the value of an option that a rule is about. If `value` is "", the value is in the next word. */
static int check_option_value(const struct option_reading *r, const struct option_rule *rule, const char *value)
{
    const char *next = json_string_value(json_array_get(r->extra, r->i + 1));

    value = value[0] == '\0' && next != NULL ? next : value;
    return rule->value == NULL || strstr(value, rule->value) != NULL ? refuse_option(r, rule->instead) : 0;
}

/* Checks "name" or "name=value". An abbreviation is refused that could be one of a refused name. */
static int check_long(struct option_reading *r, const char *word)
{
    size_t n = strcspn(word, "=");

    r->wants_more = word[n] == '\0';
    for (const struct option_rule *rule = r->syntax->rule; rule->letter != '\0' || rule->name != NULL; rule++)
        if (rule->name != NULL && n > 0 && strncasecmp(rule->name, word, n) == 0 &&
            check_option_value(r, rule, word[n] == '=' ? word + n + 1 : "") < 0)
            return -1;
    return 0;
}

static bool is_double(const struct option_syntax *syntax, const char *letters)
{
    for (const char *const *each = syntax->doubles; each != NULL && *each != NULL; each++)
        if (strncmp(*each, letters, 2) == 0)
            return true;
    return false;
}

/* Checks letters, of which all but the last have no value: "HM", "Mb". */
static int check_letters(struct option_reading *r, const char *letters)
{
    if (is_double(r->syntax, letters)) {
        r->wants_more = letters[2] == '\0';
        return 0;
    }
    for (; *letters != '\0'; letters++) {
        bool takes_value = strchr(r->syntax->valued, *letters) != NULL;

        for (const struct option_rule *rule = r->syntax->rule; rule->letter != '\0' || rule->name != NULL; rule++)
            if (rule->letter == *letters && check_option_value(r, rule, letters + 1) < 0)
                return -1;
        r->wants_more = takes_value && letters[1] == '\0';
        if (takes_value)
            break;
    }
    return 0;
}

static int check_word(struct option_reading *r, const char *word)
{
    bool may_be_value = r->wants_more;

    r->wants_more = false;
    if (word[0] != '-') {
        if (strcmp(word, ":") == 0)
            return refuse_option(r, "it begins another part of the job");
        return may_be_value || r->syntax->has_operands
                   ? 0
                   : refuse_option(r,
                                   "it is no option and no value of one, so it would be taken for the job's command");
    }
    if (word[1] == '\0' || strcmp(word, "--") == 0)
        return refuse_option(r, "it ends the options, and the adapter's own would follow it");
    if (strstr(word, " -") != NULL && strncmp(word, "--comment", 9) != 0)
        return refuse_option(r, "it has several options, of which each is a string of its own");
    return word[1] == '-' && r->syntax->has_long ? check_long(r, word + 2) : check_letters(r, word + 1);
}

int options_check(const struct option_syntax *syntax, const json_t *extra, const char *at, const char *code,
                  struct error *err)
{
    struct option_reading r = {.syntax = syntax, .extra = extra, .at = at, .code = code, .err = err};

    for (; r.i < json_array_size(extra); r.i++)
        if (check_word(&r, json_string_value(json_array_get(extra, r.i))) < 0)
            return -1;
    return 0;
}
