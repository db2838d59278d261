/* Captured output while it is written, as a reply in bounded memory. The file is looked at on worker threads. */
#ifndef API_FOLLOW_H
#define API_FOLLOW_H
#include "api/request.h"

/* Answer with what the file DIR/NAME has and what it gets, until `over` says that its writer, known by `number`, has
 * ended and all is read. A file that is not there yet is waited for. `dir` is taken over (freed). */
void follow_reply(struct request *r, char *dir, const char *name, bool (*over)(const struct request *r, int64_t number),
                  int64_t number);
#endif
