/* Lists of the API, page by page: no list is loaded whole. */
#ifndef CLI_PAGES_H
#define CLI_PAGES_H
#include "cli/cli.h"

#include <jansson.h>

/* Follow the cursor of GET `path` (with or without a query) and call `page` with each page's items, the array `key`.
 * With --json they are printed instead, as one document: the answer unchanged where it was one page, else the items of
 * all pages under `key`. */
int pages_each(struct cli *cli, const char *path, const char *key, void (*page)(void *arg, const json_t *items),
               void *arg, struct error *err);
#endif
