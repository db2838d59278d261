#include "tasks/proto/retries.h"

#include <signal.h>

bool retries_count(enum retries_end end, int64_t allowed, int64_t *failures, int64_t *losses)
{
    if (end == RETRIES_OWN_FAULT || end == RETRIES_GOT_FURTHER)
        *losses = 0;
    else
        ++*losses;
    /* nobody can know whether a runner was killed by somebody else or by its own task, so only a few are free */
    *failures += end == RETRIES_OWN_FAULT || (end == RETRIES_LOST && *losses > LOSSES_FREE);
    return *losses <= LOSSES_MAX && *failures <= allowed;
}

bool learnt_more(const struct learnt *now, const struct learnt *before)
{
    return now->batches > before->batches || now->drawn > before->drawn || now->step > before->step;
}

bool retries_is_from_outside(int sig)
{
    return sig == SIGKILL || sig == SIGTERM || sig == SIGINT || sig == SIGHUP;
}
