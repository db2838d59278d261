#include "api/follow_up_body.h"

#include "api/states.h"
#include "common/jsonx.h"

int follow_up_body_check(const json_t *body, struct engine_follow_up *wish, struct error *err)
{
    if (!json_is_object(body))
        return error_at(err, "spec_wrong_type", "",
                        "the body must be an object that says how the follow-up differs, not %s",
                        jsonx_type_name(body));
    if (spec_follow_up_check(body, err) < 0)
        return -1;
    if (wish == NULL && json_object_get(body, "states") != NULL)
        return error_at(err, "spec_unknown_key", "/states",
                        "\"states\" cannot be chosen here: follow-ups of all ensembles have unfinished members");
    return wish != NULL ? states_read(body, "go on in a follow-up", wish->states, &wish->n_states, false, err) : 0;
}
