#include "api/event_text.h"

#include "common/timefmt.h"

#include <inttypes.h>

/* The detail is JSON already, and kinds are plain words, so that both need no escapes. */
void event_text(struct text *text, const struct event_row *row)
{
    char time[TIMEFMT_SIZE];

    text_add(text, "{\"id\":%" PRId64 ",\"time\":\"%s\",\"kind\":\"%s\",\"ensemble\":%" PRId64, row->id,
             timefmt_iso(time, row->time_ms), row->kind, row->ensemble);
    if (row->index >= 0)
        text_add(text, ",\"member\":%" PRId64, row->index);
    text_add(text, ",\"detail\":%s}", row->detail != NULL ? row->detail : "null");
}
