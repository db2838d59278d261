/* Causes of failure: how many attempts and members of an ensemble failed for the same reason, counted as they end. */
#ifndef DAEMON_STORE_CAUSE_H
#define DAEMON_STORE_CAUSE_H
#include "daemon/store/attempt.h"

#define CAUSE_SIZE 512
#define CAUSES_MAX 500 /* causes of an ensemble; further ones are counted together as CAUSE_OTHER */
#define CAUSE_OTHER "(other causes)"

struct cause_row {
    char text[CAUSE_SIZE];
    char outcome[16];
    int64_t members, attempts;
    int64_t index, number; /* the latest attempt that failed for this cause */
};

/* Makes a cause of a reason by leaving out words that differ from attempt to attempt: absolute paths become "/…", other
 * words with digits "#". Exit statuses and signals stay. */
void cause_text(const char *reason, char *out, size_t size);

/* Counts an attempt that has failed. It must be stored already. */
int store_cause_count(struct store *store, const struct attempt_row *attempt, struct error *err);
/* Counts the causes of an ensemble. */
int store_cause_total(struct store *store, int64_t ensemble, int64_t *n, struct error *err);
/* Counts the members of which an attempt has diverged. */
int store_cause_diverged(struct store *store, int64_t ensemble, int64_t *n, struct error *err);
/* Reads at most `limit` causes, those with the most members first. */
int store_cause_each(struct store *store, int64_t ensemble, int limit,
                     int (*each)(void *arg, const struct cause_row *row), void *arg, struct error *err);
#endif
