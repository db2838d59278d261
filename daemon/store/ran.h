/* The files and variables with which attempts ran, from their exit records, if the spec has rules. Attempts that ran
 * the same share a row. */
#ifndef DAEMON_STORE_RAN_H
#define DAEMON_STORE_RAN_H
#include "daemon/store/store.h"

struct ran_row {
    int64_t id;
    char *content; /* JSON; valid during the call */
};

/* An attempt that has ended, and the record of what it ran. */
struct ran_attempt_row {
    int64_t index, number, ran; /* ran 0: it is not recorded */
    bool started;
};

/* Notes what an attempt ran. */
int store_ran_put(struct store *store, int64_t ensemble, int64_t index, int64_t number, const char *content,
                  struct error *err);
/* Reads what attempts of an ensemble ran. */
int store_ran_each(struct store *store, int64_t ensemble, int (*each)(void *arg, const struct ran_row *row), void *arg,
                   struct error *err);
/* Reads all attempts of an ensemble that have ended, by index and number. */
int store_ran_each_attempt(struct store *store, int64_t ensemble,
                           int (*each)(void *arg, const struct ran_attempt_row *row), void *arg, struct error *err);
#endif
