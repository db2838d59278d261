#include "api/ensemble_json.h"
#include "api/find.h"
#include "api/handlers.h"

void training_reply(struct request *r, const struct training_row *row)
{
    struct error err;
    json_t *json = training_json(r, row, &err);

    if (json != NULL)
        request_reply_json(r, 200, json);
    else
        request_reply_problem(r, &err);
}

void training_get(struct request *r)
{
    struct training_row row;

    if (find_training(r, &row) == 0)
        training_reply(r, &row);
}
