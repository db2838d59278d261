#include "api/handlers.h"
#include "api/request.h"
#include "api/web.h"

#include <string.h>

void web_get(struct request *r)
{
    if (strcmp(request_file(r), WEB_PAGE) == 0)
        request_reply_error(r, "file_not_found", "the page is at /, where its links lead to what there is");
    else
        web_reply(r, request_file(r));
}
