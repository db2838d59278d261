/* Captured output while it is written, as a reply in bounded memory. The file is looked at on worker threads. */
#ifndef API_FOLLOW_H
#define API_FOLLOW_H
#include "api/request.h"

/* Answer with what the file DIR/NAME has from byte `from` on and what it gets, until `over` says that its writer, known by `number`, has
 * ended and all is read. A file that is not there yet is waited for. `dir` is taken over (freed). */
void follow_reply(struct request *r, char *dir, const char *name, int64_t from,
                  bool (*over)(const struct request *r, int64_t number), int64_t number);

/* The query parameters `follow` and `from`. -1: "query_wrong_value". */
int follow_query(const struct request *r, int64_t *follow, int64_t *from, struct error *err);
#endif
