/* Sessions of web browsers. A session has two secrets, and each request must have both. One is the cookie, which the
 * page cannot read. The other is the place, a part of the path of every request ("/s/PLACE/v1/…"), which only the page
 * knows. Browsers send a cookie to all ports of a host, and so to servers of other users on it. They send ours only
 * with requests below that path, and so only to servers whose address has the place. */
#ifndef API_SESSION_H
#define API_SESSION_H
#include "api/token.h"
#include "daemon/store/session.h"

#define SESSION_PLACE_SIZE 23   /* bytes, with the NUL */
#define SESSION_COOKIE_SIZE 320 /* bytes of a Set-Cookie header */

struct session_key {
    char place[SESSION_PLACE_SIZE], secret[TOKEN_SECRET_SIZE];
};

void session_key_make(struct session_key *key);
void session_hash(const struct session_key *key, char hash[65]);

/* Returns the path behind "/s/PLACE", and the place; or the path itself with the place "". */
const char *session_path(const char *path, char place[SESSION_PLACE_SIZE]);

/* Finds the secret in a Cookie header. Returns false if there is none. */
bool session_secret(const char *cookies, char secret[TOKEN_SECRET_SIZE]);

/* Writes a Set-Cookie header for `row`. The secret "" makes the browser forget the cookie. */
void session_cookie(char cookie[SESSION_COOKIE_SIZE], const struct session_row *row, const struct session_key *key,
                    bool secure);

json_t *session_json(const struct session_row *row); /* returns the object of the API */
#endif
