/* Writes events as JSON text. */
#ifndef API_EVENT_TEXT_H
#define API_EVENT_TEXT_H
#include "common/text.h"
#include "daemon/store/event.h"

/* Adds {"id", "time", "kind", "ensemble", "member" if it is about one, "detail"} without a line break in it. */
void event_text(struct text *text, const struct event_row *row);
#endif
