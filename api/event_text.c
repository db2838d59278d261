#include "api/event_text.h"

#include "common/timefmt.h"
#include "common/xalloc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void text_add(struct text *text, const char *fmt, ...)
{
    va_list ap, again;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (text->size + (size_t)n + 1 > text->room) {
        text->room = 2 * (text->size + (size_t)n + 1);
        text->data = xrealloc(text->data, text->room, 1);
    }
    vsnprintf(text->data + text->size, (size_t)n + 1, fmt, again);
    va_end(again);
    text->size += (size_t)n;
}

/* The detail is JSON already, and kinds are plain words: both go in as they are. */
void event_text(struct text *text, const struct event_row *row)
{
    char time[TIMEFMT_SIZE];

    text_add(text, "{\"id\":%" PRId64 ",\"time\":\"%s\",\"kind\":\"%s\",\"ensemble\":%" PRId64, row->id,
             timefmt_iso(time, row->time_ms), row->kind, row->ensemble);
    if (row->index >= 0)
        text_add(text, ",\"member\":%" PRId64, row->index);
    text_add(text, ",\"detail\":%s}", row->detail != NULL ? row->detail : "null");
}
