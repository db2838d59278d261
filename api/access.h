/* Who calls, and what they may do. On the Unix socket the peer's uid is the check, and it may do all; over TCP a bearer token says who
 * it is. On both, the Host header must name this daemon, and web browsers need a session (api/origin.h, api/session.h). */
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
    unsigned revocations; /* changes whenever a token is revoked, or a session ended */
};

/* Parts of a request that decide who may send it. */
struct access_ask {
    const char *method;
    const struct route *route; /* NULL: none */
    const char *place;         /* of a session, "" where the path names none */
    bool page;                 /* HTML is asked for */
};

struct caller {
    enum token_role role;
    int64_t token;   /* its id; 0: on the Unix socket */
    int64_t session; /* of a browser, begun by that token or on that socket; 0: none */
    bool stranger;   /* not known, and nothing but open routes is for it */
    int64_t last_used_ms;
    int64_t expires_ms;   /* 0: never */
    unsigned revocations; /* as they were when it was last looked at */
    bool revoked;
};

/* Fill *caller, or -1 with one of peer_not_allowed, host_not_allowed, origin_not_allowed, session_missing, token_missing,
 * token_invalid, too_many_tries.
 * Failed tries are logged, without what was sent. */
int access_check(struct access *access, const struct listener *listener, struct MHD_Connection *connection,
                 const struct access_ask *ask, struct caller *caller, struct error *err);

/* Who the bearer of the token in the Authorization header is, also on the Unix socket and in a browser: fill *caller, or
 * -1 as above. */
int access_bearer(struct access *access, struct MHD_Connection *connection, struct caller *caller, struct error *err);

/* A wrong secret that a handler has found: counts as a failed try. Returns -1. */
int access_refuse(struct access *access, struct MHD_Connection *connection, struct error *err);

/* May the caller use this route? -1 with role_insufficient, which is logged as failed tries are. */
int access_permit(struct access *access, struct MHD_Connection *connection, const struct caller *caller,
                  const struct route *route, struct error *err);

/* Still? Whoever was let in once may have lost the right since, while a long reply is sent. */
bool access_holds(const struct access *access, struct caller *caller);

/* What was refused for other reasons than a missing right: logged, as often as the rest. `what` is a sentence. */
void access_log(struct access *access, struct MHD_Connection *connection, const char *what);

/* The caller's request is over: note, at most once a minute, that its token or session was used. */
void access_used(struct access *access, const struct caller *caller);

/* The WWW-Authenticate header that goes with a refusal; NULL where none does. */
const char *access_challenge(const struct error *err);
#endif
