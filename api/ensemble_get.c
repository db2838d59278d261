#include "api/ensemble_json.h"
#include "api/handlers.h"

void ensemble_get(struct request *r)
{
    ensemble_reply(r, 200);
}
