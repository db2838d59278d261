/* Why attempts of an ensemble failed, by cause, counted as they end. */
#ifndef DAEMON_STORE_CAUSE_H
#define DAEMON_STORE_CAUSE_H
#include "daemon/store/attempt.h"

#define CAUSE_SIZE 512
#define CAUSES_MAX 500 /* of an ensemble; what would be more is counted together, as CAUSE_OTHER */
#define CAUSE_OTHER "(other causes)"

struct cause_row {
    char text[CAUSE_SIZE];
    char outcome[16];
    int64_t members, attempts;
    int64_t index, number; /* the latest of these attempts */
};

/* A reason without what differs from attempt to attempt: absolute paths become "/…", other words with digits "#"; exit statuses and
 * signals stay. */
void cause_text(const char *reason, char *out, size_t size);

/* An attempt, already stored, has failed. */
int store_cause_count(struct store *store, const struct attempt_row *attempt, struct error *err);
/* How many causes there are. */
int store_cause_total(struct store *store, int64_t ensemble, int64_t *n, struct error *err);
/* Those that the most members had first. */
int store_cause_each(struct store *store, int64_t ensemble, int limit, int (*each)(void *arg, const struct cause_row *row), void *arg,
                     struct error *err);
#endif
