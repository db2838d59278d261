#include "api/handlers.h"
#include "api/request.h"

#include "daemon/turn.h"

/* The daemon is ready if it can store changes and accept new work. */
void ready_get(struct request *r)
{
    static const char text[] = "{\"status\":\"ready\"}\n";
    const struct error *trouble = turn_trouble(request_config(r)->turn);
    struct error err;

    if (trouble != NULL)
        request_reply_error(r, "not_ready", "changes cannot be stored: %s", trouble->text);
    else if (store_check_room(request_config(r)->store, &err) < 0)
        request_reply_error(r, "not_ready", "%s", err.text);
    else
        request_reply_static(r, 200, "application/json", text, sizeof text - 1);
}
