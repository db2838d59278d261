/* Sends captured output. */
#ifndef API_OUTPUT_H
#define API_OUTPUT_H
#include "api/request.h"

/* Answers with the file DIR/NAME as text, or with the range of it that the client asked for; with "output_not_found"
 * while it does not exist. `dir` is taken over (freed). The answer comes later. */
void output_reply(struct request *r, char *dir, const char *name);
#endif
