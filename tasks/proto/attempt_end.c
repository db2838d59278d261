#include "tasks/proto/attempt_end.h"

#include <string.h>

static const char *const names[] = {NULL, "succeeded", "failed", "timeout", "cancelled", "diverged", "lost", "reached"};

const char *attempt_outcome_name(enum attempt_outcome outcome)
{
    return names[outcome];
}

enum attempt_outcome attempt_outcome_named(const char *name)
{
    for (int i = ATTEMPT_SUCCEEDED; i <= ATTEMPT_REACHED; i++)
        if (strcmp(names[i], name) == 0)
            return (enum attempt_outcome)i;
    return ATTEMPT_OPEN;
}
