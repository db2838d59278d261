/* Sends captured output while it is written, in bounded memory. Worker threads read the file. */
#ifndef API_FOLLOW_H
#define API_FOLLOW_H
#include "api/output.h"

/* Answers with the output from byte `from` on, and with what the writer adds, until `over` says that its writer, known
 * by `number`, has ended and all is read. If the output does not exist yet, it is waited for. `place` and `find` are as
 * for output_reply(). */
void follow_reply(struct request *r, struct output_place place, output_find *find, int64_t from,
                  bool (*over)(const struct request *r, int64_t number), int64_t number);

/* Reads the query parameters `follow` and `from`. Fails with code "query_wrong_value". */
int follow_query(const struct request *r, int64_t *follow, int64_t *from, struct error *err);
#endif
