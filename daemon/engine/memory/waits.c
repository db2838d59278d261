#include "daemon/engine/memory/waits.h"

static double part_of(double seconds, double of)
{
    double part = seconds / of;

    return part < 0 ? 0 : part > 1 ? 1 : part;
}

static bool part_tells(bool told, double part)
{
    return part >= (told ? WAITS_FEW : WAITS_MANY);
}

enum waits_news waits_note(struct waits *waits, const struct waits_sum *now, int ranks, double span_s)
{
    double took = now->time - waits->before.time;

    if (waits->before.time <= 0 || took < 0 || now->for_samples < waits->before.for_samples ||
        now->for_room < waits->before.for_room) {
        *waits = (struct waits){.before = *now}; /* other ranks than before, or another clock */
        return WAITS_BEGIN;
    }
    if (took < span_s * ranks)
        return WAITS_GO_ON;
    waits->for_samples = part_of(now->for_samples - waits->before.for_samples, took);
    waits->for_room = part_of(now->for_room - waits->before.for_room, took);
    waits->tell_samples = part_tells(waits->tell_samples, waits->for_samples);
    waits->tell_room = part_tells(waits->tell_room, waits->for_room);
    waits->known = true;
    waits->before = *now;
    return WAITS_MEASURED;
}

void waits_note_uneven(struct waits_uneven *uneven, int starving, int full, int64_t now_ms)
{
    bool is_uneven = starving >= 0 && full >= 0;
    int64_t since = uneven->since_ms > 0 ? uneven->since_ms : now_ms;

    *uneven = is_uneven ? (struct waits_uneven){since, starving, full} : (struct waits_uneven){0};
}
