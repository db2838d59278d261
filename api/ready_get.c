#include "api/handlers.h"
#include "api/request.h"

#include "daemon/turn.h"

/* Ready is who can store changes. */
void ready_get(struct request *r)
{
    static const char text[] = "{\"status\":\"ready\"}\n";
    const struct error *trouble = turn_trouble(request_config(r)->turn);

    if (trouble != NULL)
        request_reply_error(r, "not_ready", "changes cannot be stored: %s", trouble->text);
    else
        request_reply_static(r, 200, "application/json", text, sizeof text - 1);
}
