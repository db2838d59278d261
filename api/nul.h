/* Finds NUL bytes in the head of a request. libmicrohttpd (0.9.75) reads request line and headers as texts that a NUL
 * ends: `/cancel` and a NUL before what was meant would cancel. */
#ifndef API_NUL_H
#define API_NUL_H
#include "common/error.h"

#include <microhttpd.h>
#include <stdbool.h>

/* Returns a mark of where the request's target ends, for the callback that logs it. It becomes the context of the
 * request until that has one of its own. */
void *nul_mark(const char *uri);
bool nul_is_mark(const void *context);

/* Checks the head of a request; method and version are those that libmicrohttpd hands over, which lie in it. Fails with
 * code "request_ambiguous". Folded headers, which HTTP forbids, are refused, too. */
int nul_check(struct MHD_Connection *connection, const void *mark, const char *method, const char *version,
              struct error *err);
#endif
