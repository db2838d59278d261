#include "api/handlers.h"
#include "api/request.h"

/* The answer itself shows that the daemon is alive. */
void health_get(struct request *r)
{
    static const char text[] = "{\"status\":\"ok\"}\n";

    request_reply_static(r, 200, "application/json", text, sizeof text - 1);
}
