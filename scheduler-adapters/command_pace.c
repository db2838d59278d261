/* Limits how many connections to a batch system commands make in a minute. */
#include "scheduler-adapters/command.h"

#define BURST 4 /* the part of a minute's connections that may be made at once: 1/4 */

/* Adds what time has brought. */
static void pace_update(struct command_pace *pace, uint64_t now)
{
    int64_t most = 1000 * (int64_t)pace->a_minute / BURST, each_ms = 1000 * (int64_t)pace->a_minute;

    /* what may be made at once, and what comes in a minute, is a minute's number together */
    each_ms -= most;
    if (pace->at == 0)
        pace->left = most;
    else
        pace->left += (int64_t)(now - pace->at) * each_ms / 60000;
    pace->left = pace->left < most ? pace->left : most;
    pace->at = now;
}

/* Returns how many connections are left now. */
static unsigned command_pace_left(struct command_pace *pace, uint64_t now_ms)
{
    if (pace->a_minute == 0)
        return UINT32_MAX;
    pace_update(pace, now_ms);
    return pace->left > 0 ? (unsigned)(pace->left / 1000) : 0;
}

bool command_pace_take(struct command_pace *pace, uint64_t now_ms, unsigned cost, bool waits)
{
    unsigned most = pace->a_minute / BURST;

    if (pace->a_minute == 0)
        return true;
    if (command_pace_left(pace, now_ms) < (cost < most ? cost : most) && waits)
        return false;
    pace->left -= 1000 * (int64_t)cost;
    return true;
}
