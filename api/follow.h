/* Sends captured output while it is written, in bounded memory. Worker threads read the file. */
#ifndef API_FOLLOW_H
#define API_FOLLOW_H
#include "api/request.h"

/* Answers with the file DIR/NAME from byte `from` on, and with what is added to it, until `over` says that its writer,
 * known by `number`, has ended and all is read. If the file does not exist yet, it is waited for. `dir` is taken over
 * (freed). */
void follow_reply(struct request *r, char *dir, const char *name, int64_t from,
                  bool (*over)(const struct request *r, int64_t number), int64_t number);

/* Reads the query parameters `follow` and `from`. Fails with code "query_wrong_value". */
int follow_query(const struct request *r, int64_t *follow, int64_t *from, struct error *err);
#endif
