#include "api/handlers.h"
#include "api/request.h"
#include "common/embedded.h"

extern const struct embedded api_openapi[];

void openapi_get(struct request *r)
{
    request_reply_static(r, 200, "application/json", api_openapi[0].data, api_openapi[0].size);
}
