/* Events as text, built in one growing buffer. */
#ifndef API_EVENT_TEXT_H
#define API_EVENT_TEXT_H
#include "daemon/store/event.h"

#include <stddef.h>

struct text {
    char *data; /* from malloc; NULL while empty */
    size_t size, room;
};

void text_add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* {"id", "time", "kind", "ensemble", "member" where it is about one, "detail"}, without a newline in it. */
void event_text(struct text *text, const struct event_row *row);
#endif
