/* Serves the dashboard: files of web/, built in by build-aux/embed. They are the same for everybody, and reveal
 * nothing. */
#ifndef API_WEB_H
#define API_WEB_H
#include "api/request.h"

#define WEB_PAGE "index.html" /* served at "/", from which its URLs are relative */

/* Answers with the file of that name, compressed if the client takes it, or with "file_not_found". */
void web_reply(struct request *r, const char *name);
#endif
