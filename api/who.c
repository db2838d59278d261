#include "api/who.h"

#include "api/access.h"

#include <stdio.h>

void who_asks(const struct request *r, char out[WHO_SIZE])
{
    const struct caller *caller = request_caller(r);
    struct token_row token;
    struct error err;

    if (caller->session != 0)
        snprintf(out, WHO_SIZE, "in the dashboard (session %lld)", (long long)caller->session);
    else if (caller->token == 0)
        snprintf(out, WHO_SIZE, "over the daemon's Unix socket");
    else if (store_token_get(request_store(r), caller->token, &token, &err) == 1 && token.label[0] != '\0')
        snprintf(out, WHO_SIZE, "by token %lld (%s)", (long long)caller->token, token.label);
    else
        snprintf(out, WHO_SIZE, "by token %lld", (long long)caller->token);
}
