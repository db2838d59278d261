/* Reads a request for a session: {"role": …, "expires": …}. */
#ifndef API_SESSION_WISH_H
#define API_SESSION_WISH_H
#include "api/access.h"

#include <jansson.h>

struct session_wish {
    enum token_role role;
    int64_t until_ms; /* when the session ends */
};

/* Reads the request of `caller`, who gets no higher role than its own. Other keys are not judged. Returns 0, or -1 with
 * a code of specs or "role_insufficient". */
int session_wish_read(const json_t *json, const struct caller *caller, int64_t now_ms, struct session_wish *wish,
                      struct error *err);
#endif
