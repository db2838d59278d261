/* problem+json (RFC 9457) from a struct error. */
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

/* The status of a code; 500 for one that the table lacks. */
int problem_status(const char *code);

/* A new object: type, title, status, code, detail, and pointer where there is one or where the input was refused. */
json_t *problem_json(const struct error *err);
#endif
