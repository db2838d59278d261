/* Finds out where the daemon is. */
#ifndef CLI_URL_H
#define CLI_URL_H
#include "common/url.h"

/* Like url_parse(). NULL or "" stands for the socket in the default state directory. */
int cli_url_parse(struct url *url, const char *text, struct error *err);
#endif
