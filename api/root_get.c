#include "api/handlers.h"
#include "api/request.h"
#include "api/web.h"
#include "config.h"

void root_get(struct request *r)
{
    static const char text[] = "{\"name\":\"stretto\",\"version\":\"" PACKAGE_VERSION "\","
                               "\"openapi\":\"/openapi.json\",\"ensembles\":\"/v1/ensembles\"}\n";

    if (request_wants_page(r)) {
        web_reply(r, WEB_PAGE);
        return;
    }
    request_reply_static(r, 200, "application/json", text, sizeof text - 1);
}
