#include "api/follow_up_body.h"

#include "api/states.h"
#include "common/jsonx.h"

int follow_up_body_check(const json_t *body, struct engine_follow_up *wish, struct error *err)
{
    if (!json_is_object(body))
        return error_at(err, "spec_wrong_type", "", "what a follow-up is to be like is an object, not %s", jsonx_type_name(body));
    if (spec_follow_up_check(body, err) < 0)
        return -1;
    if (wish == NULL && json_object_get(body, "states") != NULL)
        return error_at(err, "spec_unknown_key", "/states", "the follow-ups of all are of unfinished members");
    return wish != NULL ? states_read(body, "go on in a follow-up", wish->states, &wish->n_states, err) : 0;
}
