/* One handler per resource and verb, each in a file of its name (a handler of stdout has that of stderr beside it). */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

struct request;

#define ROUTE(method, pattern, handler, query, flags) void handler(struct request *r);
#include "api/tbl/routes.h"
#undef ROUTE

/* The daemon ends: a backup that is being made is given up soon. */
void backup_get_stop(void);

#endif
