#include "api/access.h"
#include "api/ensemble_json.h"
#include "api/handlers.h"

#include <stdio.h>

/* Writes who asks, as a phrase for people. The label of a token is its owner's, and may be any text. */
static void say_who(const struct request *r, char *out, size_t size)
{
    const struct caller *caller = request_caller(r);
    struct token_row token;
    struct error err;

    if (caller->session != 0)
        snprintf(out, size, "in the dashboard (session %lld)", (long long)caller->session);
    else if (caller->token == 0)
        snprintf(out, size, "over the daemon's Unix socket");
    else if (store_token_get(request_store(r), caller->token, &token, &err) == 1 && token.label[0] != '\0')
        snprintf(out, size, "by token %lld (%s)", (long long)caller->token, token.label);
    else
        snprintf(out, size, "by token %lld", (long long)caller->token);
}

void ensemble_pause_post(struct request *r)
{
    char by[256];
    struct error err;

    say_who(r, by, sizeof by);
    if (engine_pause(request_config(r)->engine, request_id(r, 0), by, &err) < 0)
        request_reply_problem(r, &err);
    else
        ensemble_reply(r, 200);
}
