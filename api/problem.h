/* Makes problem+json (RFC 9457) of a struct error. */
#ifndef API_PROBLEM_H
#define API_PROBLEM_H
#include "common/error.h"

#include <jansson.h>

struct problem {
    const char *code;
    int status;
    const char *title;
};

extern const struct problem problem_table[]; /* ended by a NULL code */

/* Returns the status of a code; 500 for a code that the table lacks. */
int problem_status(const char *code);

/* Returns a new object: type, title, status, code, detail, and pointer if there is one or the input was refused. */
json_t *problem_json(const struct error *err);
#endif
