/* The handlers: one for each resource and verb, in a file of its name (that of stderr is beside that of stdout). */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

struct request;

#define ROUTE(method, pattern, handler, query, flags) void handler(struct request *r);
#include "api/tbl/routes.h"
#undef ROUTE

/* Called when the daemon ends: a backup that is being made is given up soon. */
void backup_get_stop(void);

#endif
