/* Handles grants of access, which can be listed and revoked: tokens, and sessions of web browsers. */
#ifndef CLI_GRANTS_H
#define CLI_GRANTS_H
#include "cli/cli.h"

#include <stdint.h>

enum grant_cell { GRANT_NUMBER, GRANT_TEXT, GRANT_AGE };
struct grant_column {
    const char *header, *key; /* the key in the API's object; NULL for the header ends the columns */
    enum grant_cell cell;
};

/* Prints all of them as a table. `key` is the key of the list in the page at `path`. Returns 0, or -1 with err. */
int grants_list(struct cli *cli, const char *path, const char *key, const struct grant_column *columns,
                struct error *err);
/* POSTs the wish, which is taken over. It is NULL if it had text that is not UTF-8; err then has the given code. With
 * --json the answer is printed; otherwise `show` prints it. Returns 0, or -1 with err. */
int grant_make(struct cli *cli, const char *path, json_t *wish, const char *code,
               void (*show)(void *arg, const json_t *made), void *arg, struct error *err);
/* DELETEs PATH/ID and prints "WHAT ID: revoked". Returns 0, or -1 with err. */
int grant_revoke(struct cli *cli, const char *path, const char *what, int64_t id, struct error *err);
#endif
