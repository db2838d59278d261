/* Finds out who calls, and decides what they may do. On the Unix socket the peer's uid is checked, and the caller may
 * do everything; over TCP a bearer token names the caller. On both, the Host header must name this daemon, and web
 * browsers need a session (api/origin.h, api/session.h). */
#ifndef API_ACCESS_H
#define API_ACCESS_H
#include "api/api.h"
#include "api/listener.h"
#include "api/refusals.h"
#include "api/routes.h"
#include "daemon/store/token.h"

#include <microhttpd.h>
#include <stdbool.h>

/* State that all listeners share. */
struct access {
    const struct api_config *config;
    struct refusals refusals;
    unsigned revocations; /* changes whenever a token is revoked or a session ends */
};

/* The parts of a request that decide who may send it. */
struct access_ask {
    const char *method;
    const struct route *route; /* NULL if there is none */
    const char *place;         /* the place of a session, "" if the path has none */
    bool page;                 /* the client asks for HTML */
};

struct caller {
    enum token_role role;
    int64_t token;   /* id of the token; 0 on the Unix socket */
    int64_t session; /* id of a browser's session, begun by that token or on that socket; 0 if there is none */
    bool stranger;   /* the caller is not known, and may use only open routes */
    int64_t last_used_ms;
    int64_t expires_ms;   /* 0 for never */
    unsigned revocations; /* the value of access->revocations when the database was last asked */
    bool revoked;
};

/* Fills *caller, or returns -1 with one of peer_not_allowed, host_not_allowed, origin_not_allowed, session_missing,
 * token_missing, token_invalid, too_many_tries. Failed tries are logged, without what was sent. */
int access_check(struct access *access, const struct listener *listener, struct MHD_Connection *connection,
                 const struct access_ask *ask, struct caller *caller, struct error *err);

/* Fills *caller with the bearer of the token in the Authorization header, also on the Unix socket and in a browser.
 * Fails as access_check() does. */
int access_bearer(struct access *access, struct MHD_Connection *connection, struct caller *caller, struct error *err);

/* Counts a wrong secret that a handler has found as a failed try. Returns -1. */
int access_refuse(struct access *access, struct MHD_Connection *connection, struct error *err);

/* Checks that the caller may use this route. Returns -1 with role_insufficient, which is logged like failed tries. */
int access_permit(struct access *access, struct MHD_Connection *connection, const struct caller *caller,
                  const struct route *route, struct error *err);

/* Returns whether the caller's token or session is still good. A reply may be so long that it ends meanwhile. */
bool access_holds(const struct access *access, struct caller *caller);

/* Logs a refusal for another reason than a missing right, as often as failed tries. `what` is a sentence. */
void access_log(struct access *access, struct MHD_Connection *connection, const char *what);

/* Called at the end of a request: notes, at most once a minute, that its token or session was used. */
void access_used(struct access *access, const struct caller *caller);

/* Returns the WWW-Authenticate header that goes with a refusal, or NULL. */
const char *access_challenge(const struct error *err);
#endif
