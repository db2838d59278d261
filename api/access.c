#include "api/access.h"

#include "api/host.h"
#include "api/origin.h"
#include "api/session.h"
#include "api/token.h"
#include "common/log.h"
#include "common/timefmt.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define TOUCH_MS 60000

static int connection_fd(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info != NULL ? info->connect_fd : -1;
}

/* Refuses other users on the Unix socket. Its mode keeps them out already, unless somebody has changed it. */
static int check_peer(struct MHD_Connection *connection, struct error *err)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(connection_fd(connection), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        (peer.uid == geteuid() || peer.uid == 0))
        return 0;
    return error_set(err, "peer_not_allowed", "this socket answers only the user that runs the daemon");
}

static const struct sockaddr *peer_of(struct MHD_Connection *connection, char *text, size_t size)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *peer = info != NULL ? info->client_addr : NULL;
    socklen_t peer_size =
        peer != NULL && peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

    if (peer != NULL && peer->sa_family == AF_UNIX)
        snprintf(text, size, "a client of the Unix socket");
    else if (peer == NULL || getnameinfo(peer, peer_size, text, (socklen_t)size, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(text, size, "an unknown address");
    return peer;
}

/* Counts a refusal and logs it. The reasons never have what was sent. `connection` is NULL if it is not known. */
int access_refuse(struct access *access, struct MHD_Connection *connection, struct error *err)
{
    char peer[64] = "a client", more[64] = "";
    struct refusals_verdict verdict = refusals_add(
        &access->refusals, connection ? peer_of(connection, peer, sizeof peer) : NULL, time_monotonic_ms());

    if (verdict.silent > 0)
        snprintf(more, sizeof more, "; %u tries before were not logged", verdict.silent);
    if (verdict.log)
        log_warn("refused %s: %s (%s)%s", peer, err->text, err->code, more);
    if (verdict.too_many)
        error_set(err, "too_many_tries", "too many failed tries from this address: wait a minute");
    return -1;
}

/* Returns the token in the Authorization header, or NULL. */
static const char *bearer(struct MHD_Connection *connection)
{
    const char *header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");

    if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
        return NULL;
    header += 7;
    return header + strspn(header, " ");
}

/* Returns 0, or -1 with err. *failed says whether that is the caller's fault and counts as a failed try. */
static int check_token(struct access *access, const char *token, struct caller *caller, bool *failed, struct error *err)
{
    const struct api_config *config = access->config;
    int64_t now_ms = config->now_ms(config->now_arg);
    struct token_row row;
    int rc;

    *failed = true;
    if (token == NULL)
        return error_set(err, "token_missing",
                         "TCP wants a token: -H 'Authorization: Bearer …'; `stretto token create` makes one");
    rc = token_find(config->store, token, &row, err);
    *failed = rc >= 0;
    if (rc < 0)
        return -1;
    if (rc == 0)
        return error_set(err, "token_invalid", "this is no token of this daemon");
    if (row.revoked_ms != 0)
        return error_set(err, "token_invalid", "token %" PRId64 " was revoked", row.id);
    if (row.expires_ms != 0 && row.expires_ms <= now_ms)
        return error_set(err, "token_invalid", "token %" PRId64 " has expired", row.id);
    *caller = (struct caller){.role = row.role,
                              .token = row.id,
                              .last_used_ms = row.last_used_ms,
                              .expires_ms = row.expires_ms,
                              .revocations = access->revocations};
    return 0;
}

/* Like check_token(), by the place in the path and the cookie. */
static int check_session(struct access *access, struct MHD_Connection *connection, const char *place,
                         struct caller *caller, bool *failed, struct error *err)
{
    const struct api_config *config = access->config;
    const char *cookies = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Cookie");
    struct session_key key;
    struct session_row row;
    char hash[65];
    int rc;

    *failed = true;
    snprintf(key.place, sizeof key.place, "%s", place);
    if (place[0] == '\0' || !session_secret(cookies, key.secret))
        return error_set(err, "session_missing",
                         "a web browser needs a session: `stretto dashboard` prints a link that begins one");
    session_hash(&key, hash);
    rc = store_session_find(config->store, hash, config->now_ms(config->now_arg), &row, err);
    *failed = rc >= 0;
    if (rc < 0)
        return -1;
    if (rc == 0)
        return error_set(err, "session_missing",
                         "this session has ended: `stretto dashboard` prints a link that begins another");
    *caller = (struct caller){.role = row.role,
                              .token = row.token,
                              .session = row.id,
                              .last_used_ms = row.last_used_ms,
                              .expires_ms = row.expires_ms,
                              .revocations = access->revocations};
    return 0;
}

/* Returns whether the Host header names this daemon. On the Unix socket it may be "stretto", and HTTP/1.0 may leave it
 * out. */
static bool names_us(struct access *access, const struct listener *listener, struct MHD_Connection *connection)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");

    if (!listener->tcp && host == NULL)
        return true;
    return host_allowed(host, listener->tcp ? listener->host : "stretto", connection_fd(connection),
                        access->config->host_names);
}

static bool reads(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "OPTIONS") == 0;
}

static bool is_open_to_all(const struct access_ask *ask)
{
    return ask->route != NULL && (ask->route->flags & (ask->page ? ROUTE_OPEN | ROUTE_PAGE : ROUTE_OPEN)) != 0;
}

/* Returns whether a browser follows a link. A page of another site may have one to the dashboard if it opens in a
 * window of its own, since the page there is the same for everybody. */
static bool is_link(const struct access_ask *ask, const struct origin *origin)
{
    return is_open_to_all(ask) && origin->document && reads(ask->method);
}

static int check_caller(struct access *access, const struct listener *listener, struct MHD_Connection *connection,
                        const struct access_ask *ask, bool browser, struct caller *caller, struct error *err)
{
    bool failed;

    if (is_open_to_all(ask))
        *caller = (struct caller){.stranger = true};
    else if (browser ? check_session(access, connection, ask->place, caller, &failed, err) < 0
                     : listener->tcp && check_token(access, bearer(connection), caller, &failed, err) < 0)
        return failed ? access_refuse(access, connection, err) : -1;
    return 0;
}

int access_check(struct access *access, const struct listener *listener, struct MHD_Connection *connection,
                 const struct access_ask *ask, struct caller *caller, struct error *err)
{
    bool tls = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) != NULL, browser;
    struct origin origin;

    *caller = (struct caller){.role = TOKEN_ADMIN};
    if (!listener->tcp && check_peer(connection, err) < 0)
        return -1;
    if (!names_us(access, listener, connection)) {
        error_set(err, "host_not_allowed",
                  "the Host header does not name this daemon: say localhost%s; host_names lists further names",
                  listener->tcp ? "" : " or stretto, as in http://stretto/v1/ensembles");
        return access_refuse(access, connection, err);
    }
    if (origin_check(connection, tls, &origin, err) < 0 && !is_link(ask, &origin))
        return access_refuse(access, connection, err);
    browser = origin.browser || ask->place[0] != '\0';
    if (check_caller(access, listener, connection, ask, browser, caller, err) < 0)
        return -1;
    if (!browser || origin.own || reads(ask->method))
        return 0;
    error_set(err, "origin_not_allowed", "a web browser changes something only from the dashboard's own page");
    return access_refuse(access, connection, err);
}

int access_bearer(struct access *access, struct MHD_Connection *connection, struct caller *caller, struct error *err)
{
    bool failed;

    if (check_token(access, bearer(connection), caller, &failed, err) == 0)
        return 0;
    return failed ? access_refuse(access, connection, err) : -1;
}

static enum token_role role_for(const struct route *route)
{
    if (route->flags & ROUTE_ADMIN)
        return TOKEN_ADMIN;
    return strcmp(route->method, "GET") == 0 || (route->flags & ROUTE_READER) ? TOKEN_READER : TOKEN_OPERATOR;
}

int access_permit(struct access *access, struct MHD_Connection *connection, const struct caller *caller,
                  const struct route *route, struct error *err)
{
    enum token_role needed = role_for(route);
    const char *has = token_role_name(caller->role);

    if (caller->stranger || caller->role >= needed)
        return 0;
    if (caller->session != 0)
        error_set(err, "role_insufficient", "this takes the role %s, and session %" PRId64 " has the role %s",
                  token_role_name(needed), caller->session, has);
    else
        error_set(err, "role_insufficient", "this takes the role %s, and token %" PRId64 " has the role %s",
                  token_role_name(needed), caller->token, has);
    return access_refuse(access, connection, err);
}

/* Returns 1 if the caller's token or session is neither revoked nor ended meanwhile, 0 if it is, -1 on error. */
static int recheck_caller(struct store *store, const struct caller *caller, struct error *err)
{
    struct session_row session;
    struct token_row token;
    int rc;

    if (caller->session != 0)
        return store_session_get(store, caller->session, &session, err);
    rc = store_token_get(store, caller->token, &token, err);
    return rc == 1 && token.revoked_ms != 0 ? 0 : rc;
}

bool access_holds(const struct access *access, struct caller *caller)
{
    const struct api_config *config = access->config;
    struct error err;
    int rc;

    if (caller->token == 0 && caller->session == 0)
        return true;
    if (caller->revoked)
        return false;
    if (caller->expires_ms != 0 && caller->expires_ms <= config->now_ms(config->now_arg))
        return false;
    if (caller->revocations == access->revocations)
        return true;
    rc = recheck_caller(config->store, caller, &err);
    if (rc < 0)
        return true; /* trouble of the database is not the caller's fault; the next call looks again */
    caller->revocations = access->revocations;
    caller->revoked = rc == 0;
    return !caller->revoked;
}

void access_log(struct access *access, struct MHD_Connection *connection, const char *what)
{
    struct error err;

    error_set(&err, "no_request", "%s", what);
    access_refuse(access, connection, &err);
}

void access_used(struct access *access, const struct caller *caller)
{
    const struct api_config *config = access->config;
    int64_t now_ms = config->now_ms(config->now_arg);
    struct error err;

    /* not while the disk is full: nobody waits for this change, and it must not undo changes that somebody waits for */
    if ((caller->token == 0 && caller->session == 0) || llabs(now_ms - caller->last_used_ms) < TOUCH_MS ||
        turn_trouble(config->turn) != NULL)
        return;
    if (caller->session != 0 && store_session_touch(config->store, caller->session, now_ms, &err) < 0)
        log_warn("cannot note that session %" PRId64 " was used: %s", caller->session, err.text);
    else if (caller->session == 0 && store_token_touch(config->store, caller->token, now_ms, &err) < 0)
        log_warn("cannot note that token %" PRId64 " was used: %s", caller->token, err.text);
}

const char *access_challenge(const struct error *err)
{
    if (strcmp(err->code, "token_missing") == 0)
        return "Bearer realm=\"stretto\"";
    return strcmp(err->code, "token_invalid") == 0 ? "Bearer realm=\"stretto\", error=\"invalid_token\"" : NULL;
}
