/* Reads lists of the API page by page, so that no list is loaded whole. */
#ifndef CLI_PAGES_H
#define CLI_PAGES_H
#include "cli/cli.h"

#include <jansson.h>

/* Follows the cursor of GET `path` (with or without a query) and calls `page` with the items of each page, the array
 * `key`. With --json they are printed instead, as one document. It is the answer unchanged if it was one page, and
 * otherwise the items of all pages under `key`. */
int pages_each(struct cli *cli, const char *path, const char *key, void (*page)(void *arg, const json_t *items),
               void *arg, struct error *err);
#endif
