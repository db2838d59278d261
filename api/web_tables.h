/* Files of the dashboard that are made, as the daemon is compiled, of tables that both need: no file of web/ repeats
 * them. */
#ifndef API_WEB_TABLES_H
#define API_WEB_TABLES_H
#include "common/embedded.h"

extern const struct embedded web_tables[];
#endif
