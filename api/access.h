/* Who calls, and what they may do. On the Unix socket the peer's uid is the check, and it may do all; over TCP a bearer token says who
 * it is. On both, the Host header must name this daemon, and web browsers may do less (api/origin.h). */
#ifndef API_ACCESS_H
#define API_ACCESS_H
#include "api/api.h"
#include "api/listener.h"
#include "api/refusals.h"
#include "api/routes.h"
#include "daemon/store/token.h"

#include <microhttpd.h>
#include <stdbool.h>

/* What all listeners share. */
struct access {
    const struct api_config *config;
    struct refusals refusals;
    unsigned revocations; /* changes whenever a token is revoked */
};

struct caller {
    enum token_role role;
    int64_t token; /* its id; 0: on the Unix socket */
    int64_t last_used_ms;
    int64_t expires_ms;   /* 0: never */
    unsigned revocations; /* as they were when it was last looked at */
    bool revoked;
};

/* Fill *caller, or -1 with one of peer_not_allowed, host_not_allowed, origin_not_allowed, session_missing, token_missing,
 * token_invalid, too_many_tries.
 * Failed tries are logged, without what was sent. */
int access_check(struct access *access, const struct listener *listener, struct MHD_Connection *connection, const char *method,
                 struct caller *caller, struct error *err);

/* May the caller use this route? -1 with role_insufficient, which is logged as failed tries are. */
int access_permit(struct access *access, struct MHD_Connection *connection, const struct caller *caller,
                  const struct route *route, struct error *err);

/* Still? Whoever was let in once may have lost the right since, while a long reply is sent. */
bool access_holds(const struct access *access, struct caller *caller);

/* What was refused for other reasons than a missing right: logged, as often as the rest. `what` is a sentence. */
void access_log(struct access *access, struct MHD_Connection *connection, const char *what);

/* The caller's request is over: note, at most once a minute, that its token was used. */
void access_used(struct access *access, const struct caller *caller);

/* The WWW-Authenticate header that goes with a refusal; NULL where none does. */
const char *access_challenge(const struct error *err);
#endif
