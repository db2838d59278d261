/* What gives access and can be listed and taken back: tokens, and sessions of web browsers. */
#ifndef CLI_GRANTS_H
#define CLI_GRANTS_H
#include "cli/cli.h"

#include <stdint.h>

enum grant_cell { GRANT_NUMBER, GRANT_TEXT, GRANT_AGE };
struct grant_column {
    const char *header, *key; /* in the API's object; the last column has no header */
    enum grant_cell cell;
};

/* All of them in a table; `key` is that of the list in the page at `path`. 0 or -1 with err. */
int grants_list(struct cli *cli, const char *path, const char *key, const struct grant_column *columns, struct error *err);
/* POST the wish, which is taken over; NULL: it had text that is no UTF-8, and err has that code. With --json the answer is printed; otherwise
 * `show` prints it. 0 or -1 with err. */
int grant_make(struct cli *cli, const char *path, json_t *wish, const char *code, void (*show)(void *arg, const json_t *made), void *arg,
               struct error *err);
/* DELETE PATH/ID; then "WHAT ID: revoked" is printed. 0 or -1 with err. */
int grant_revoke(struct cli *cli, const char *path, const char *what, int64_t id, struct error *err);
#endif
