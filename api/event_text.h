/* Events as text. */
#ifndef API_EVENT_TEXT_H
#define API_EVENT_TEXT_H
#include "common/text.h"
#include "daemon/store/event.h"

/* {"id", "time", "kind", "ensemble", "member" where it is about one, "detail"}, without a newline in it. */
void event_text(struct text *text, const struct event_row *row);
#endif
