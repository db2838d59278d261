/* Captured output as a reply. */
#ifndef API_OUTPUT_H
#define API_OUTPUT_H
#include "api/request.h"

/* Answer with the file DIR/NAME as text, or the range of it that was asked for; "output_not_found" where it is not
 * there (yet). `dir` is taken over (freed); the answer comes later. */
void output_reply(struct request *r, char *dir, const char *name);
#endif
