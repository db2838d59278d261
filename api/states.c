#include "api/states.h"

#include "common/jsonx.h"

#include <stdbool.h>
#include <stdio.h>

int states_read(const json_t *obj, const char *verb, enum member_state states[MEMBER_STATE_COUNT], size_t *n,
                bool stopped, struct error *err)
{
    bool wanted[MEMBER_STATE_COUNT] = {false};
    const json_t *names = NULL, *name;
    enum member_state state;
    size_t i;

    if (jsonx_strings(obj, "", "states", JSONX_OPTIONAL, 1, &names, err) < 0)
        return -1;
    if (names == NULL)
        return 0;
    json_array_foreach (names, i, name) {
        char pointer[32];

        snprintf(pointer, sizeof pointer, "/states/%zu", i);
        if (member_state_parse(json_string_value(name), &state) < 0 ||
            (state != MEMBER_FAILED && state != MEMBER_UNFINISHED && !(stopped && state == MEMBER_STOPPED)))
            return error_at(err, "spec_impossible_value", pointer,
                            "members that are failed%s unfinished%s can %s, not \"%.40s\"", stopped ? "," : " or",
                            stopped ? " or stopped" : "", verb, json_string_value(name));
        wanted[state] = true;
    }
    *n = 0;
    for (state = 0; state < MEMBER_STATE_COUNT; state++)
        if (wanted[state])
            states[(*n)++] = state;
    return 0;
}
