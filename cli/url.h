/* Where the daemon is. */
#ifndef CLI_URL_H
#define CLI_URL_H
#include "common/url.h"

/* As url_parse(); NULL or "": the default state directory's socket. */
int cli_url_parse(struct url *url, const char *text, struct error *err);
#endif
