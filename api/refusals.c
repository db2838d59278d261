#include "api/refusals.h"

#include <string.h>

#define WINDOW_MS 60000

static struct in6_addr peer_address(const struct sockaddr *peer)
{
    struct in6_addr key = {0};

    if (peer != NULL && peer->sa_family == AF_INET) {
        key.s6_addr[10] = key.s6_addr[11] = 0xff;
        memcpy(key.s6_addr + 12, &((const struct sockaddr_in *)peer)->sin_addr, 4);
    } else if (peer != NULL && peer->sa_family == AF_INET6) {
        /* one host usually has a whole /64 */
        memcpy(key.s6_addr, &((const struct sockaddr_in6 *)peer)->sin6_addr, 8);
    }
    return key;
}

static bool is_window_over(const struct refusals_peer *slot, int64_t now_ms)
{
    return slot->since_ms == 0 || now_ms - slot->since_ms >= WINDOW_MS;
}

/* Returns the slot of the address, else one whose minute is over, else the common one. */
static struct refusals_peer *refusals_slot(struct refusals *refusals, const struct in6_addr *key, int64_t now_ms)
{
    struct refusals_peer *room = NULL;

    for (struct refusals_peer *slot = refusals->peers; slot < refusals->peers + REFUSALS_SLOTS; slot++) {
        if (slot->since_ms != 0 && IN6_ARE_ADDR_EQUAL(&slot->address, key))
            return slot;
        if (room == NULL && is_window_over(slot, now_ms))
            room = slot;
    }
    if (room == NULL)
        return &refusals->peers[REFUSALS_SLOTS];
    *room = (struct refusals_peer){.address = *key};
    return room;
}

struct refusals_verdict refusals_add(struct refusals *refusals, const struct sockaddr *peer, int64_t now_ms)
{
    struct in6_addr key = peer_address(peer);
    struct refusals_peer *slot = refusals_slot(refusals, &key, now_ms);
    struct refusals_verdict verdict = {0};

    if (is_window_over(slot, now_ms)) {
        verdict.silent = slot->count > REFUSALS_LOGGED ? slot->count - REFUSALS_LOGGED : 0;
        slot->since_ms = now_ms;
        slot->count = 0;
    }
    slot->count++;
    verdict.log = slot->count <= REFUSALS_LOGGED;
    verdict.too_many = slot->count > REFUSALS_MAX;
    return verdict;
}
