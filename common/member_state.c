#include "common/member_state.h"

#include <string.h>

static const struct {
    const char *name;
    bool is_final;
} states[] = {
#define MEMBER_STATE_ROW(symbol, name, final, ...) {name, final},
    MEMBER_STATES(MEMBER_STATE_ROW)};

const char *member_state_name(enum member_state state)
{
    return states[state].name;
}

int member_state_parse(const char *name, enum member_state *state)
{
    for (enum member_state i = 0; i < MEMBER_STATE_COUNT; i++) {
        if (strcmp(states[i].name, name) == 0) {
            *state = i;
            return 0;
        }
    }
    return -1;
}

bool member_state_is_final(enum member_state state)
{
    return states[state].is_final;
}
