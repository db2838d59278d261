/* Specs for tests, made of a text among their members' keys and one among their own. */
#ifndef TESTS_UNIT_SPEC_CASES_H
#define TESTS_UNIT_SPEC_CASES_H
#include "daemon/spec/spec.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRAINING "\"training\": {\"command\": [\"t\"], \"fields\": {\"u\": {\"dtype\": \"float32\", \"shape\": [4]}}"

struct refusal {
    const char *text, *code, *pointer; /* code NULL: it is accepted */
};

/* Parses a spec with some text among its members' keys, and some among its own; both may be "". */
static struct spec *parse(const char *members, const char *top, struct error *err)
{
    static char text[1 << 14];
    struct spec *spec;
    json_t *json;

    snprintf(text, sizeof text,
             "{\"name\": \"x\", \"adapter\": \"batch\", \"members\": {\"command\": [\"true\"]%s%s, \"parameters\": "
             "{\"grid\": {\"a\": [1, 2, 3, 4, 5]}}}%s%s}",
             members[0] ? ", " : "", members, top[0] ? ", " : "", top);
    json = json_loads(text, 0, NULL);
    if (json == NULL)
        fail_msg("no JSON: %s", text);
    *err = (struct error){.code = "accepted"};
    spec = spec_parse(json, NULL, err);
    json_decref(json);
    return spec;
}

static struct spec *accepted(const char *members, const char *top)
{
    struct error err;
    struct spec *spec = parse(members, top, &err);

    if (spec == NULL)
        fail_msg("%s %s: %s at %s: %s", members, top, err.code, err.pointer, err.text);
    return spec;
}

/* `format` has one %s, for the text of each case. */
static void judged(const char *format, bool of_members, const struct refusal *cases, size_t n)
{
    const char *at = strstr(format, "%s");
    char text[4000];

    for (size_t i = 0; i < n; i++) {
        struct error err;
        struct spec *spec;

        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - format), format, cases[i].text, at + 2);
        spec = parse(of_members ? text : "", of_members ? "" : text, &err);
        if ((spec != NULL) != (cases[i].code == NULL) ||
            (spec == NULL && (strcmp(err.code, cases[i].code) != 0 || strcmp(err.pointer, cases[i].pointer) != 0)))
            fail_msg("%s: %s at %s (%s)", text, err.code, err.pointer, err.text);
        spec_destroy(spec);
    }
}
#define JUDGED(format, of_members, cases) judged(format, of_members, cases, sizeof cases / sizeof *cases)
#endif
