#include "common/log_limit.h"

#include <stdio.h>
#include <string.h>

/* FNV-1a; never 0, which marks a free slot. */
static uint64_t hash(const void *data, size_t size, uint64_t h)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h ? h : 1;
}

static bool is_slot_free(const struct log_limit_slot *slot, int64_t now_ms)
{
    return slot->key == 0 || (now_ms - slot->since_ms >= LOG_LIMIT_WINDOW_MS && slot->silent == 0);
}

/* Returns the key's slot, or a free one; NULL if all are in use. */
static struct log_limit_slot *limit_slot(struct log_limit *limit, uint64_t key, int64_t now_ms)
{
    struct log_limit_slot *room = NULL;

    for (struct log_limit_slot *slot = limit->slots; slot < limit->slots + LOG_LIMIT_SLOTS; slot++) {
        if (is_slot_free(slot, now_ms))
            room = room == NULL ? slot : room;
        else if (slot->key == key)
            return slot;
    }
    return room;
}

/* Counts one more line of the key. Returns whether it is within the `most` lines of a minute. */
static bool is_within_limit(struct log_limit *limit, uint64_t key, unsigned most, int64_t now_ms)
{
    struct log_limit_slot *slot = limit_slot(limit, key, now_ms);

    if (slot == NULL)
        return true;
    if (is_slot_free(slot, now_ms))
        *slot = (struct log_limit_slot){.key = key, .since_ms = now_ms};
    if (slot->count == most)
        return false;
    slot->count++;
    return true;
}

static bool leave_out(struct log_limit *limit, uint64_t key, enum log_level level, const char *message, int64_t now_ms)
{
    struct log_limit_slot *slot = limit_slot(limit, key, now_ms);

    slot->silent++;
    slot->level = level;
    snprintf(slot->sample, sizeof slot->sample, "%s", message);
    return false;
}

bool log_limit_pass(struct log_limit *limit, const void *site, enum log_level level, const char *message,
                    int64_t now_ms)
{
    uint64_t place = hash(&site, sizeof site, UINT64_C(0xcbf29ce484222325));
    uint64_t line = hash(message, strlen(message), place);
    const struct log_limit_slot *said = limit_slot(limit, line, now_ms);

    /* A repetition that is left out does not count against its place in the program, and a line that its place leaves
     * out needs no slot of its own. */
    if (said != NULL && !is_slot_free(said, now_ms) && said->count == LOG_LIMIT_SAME)
        return leave_out(limit, line, level, message, now_ms);
    if (!is_within_limit(limit, place, LOG_LIMIT_SITE, now_ms))
        return leave_out(limit, place, level, message, now_ms);
    return is_within_limit(limit, line, LOG_LIMIT_SAME, now_ms);
}

void log_limit_take(struct log_limit *limit, int64_t now_ms, bool all, struct log_limit_slot *out)
{
    *out = (struct log_limit_slot){0};
    for (struct log_limit_slot *slot = limit->slots; slot < limit->slots + LOG_LIMIT_SLOTS; slot++) {
        if (slot->silent > 0 && (all || now_ms - slot->since_ms >= LOG_LIMIT_WINDOW_MS)) {
            *out = *slot;
            *slot = (struct log_limit_slot){0};
            return;
        }
    }
}
