#include "daemon/engine/memory/polls.h"

#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"

#define POLL_JOBS_PER_MS 16 /* limits polls that pokes cause: one of many jobs is not made for each of them */

void poll_linger(struct engine *engine, struct known_adapter *adapter)
{
    adapter->polls.lingers_until = engine_now(engine) + POLLS_LINGER_MS;
    adapter->polls.idle = 0;
}

void poll_by(struct engine *engine, struct known_adapter *adapter, int64_t when_ms)
{
    if (adapter->polls.polling || (heap_holds(&adapter->polls.poll.node) && adapter->polls.poll.node.key <= when_ms))
        return;
    alarm_set(engine, &adapter->polls.poll, when_ms);
}

void poll_soon(struct engine *engine, struct known_adapter *adapter)
{
    int64_t now = engine_now(engine);
    int64_t from = adapter->polls.asked_ms + (int64_t)(adapter->n_unasked + adapter->n_polled) / POLL_JOBS_PER_MS;

    if (adapter->polls.polling) {
        adapter->polls.poked = true;
        return;
    }
    /* polls that fail keep their growing pauses */
    if (adapter->polls.failures == 0 || !heap_holds(&adapter->polls.poll.node))
        poll_by(engine, adapter, from > now ? from : now);
}
