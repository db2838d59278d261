/* Reading an ensemble object as GET /v1/ensembles/ID gives it. */
#ifndef CLI_ENSEMBLE_H
#define CLI_ENSEMBLE_H
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

extern const char *const ensemble_member_states[]; /* in the order of a member's life; ended by NULL */

/* Nothing more will happen: complete, or cancelled and everything that ran has been ended. */
bool ensemble_ended(const json_t *ensemble);
/* Complete, every member succeeded, and the training, where there is one, done. */
bool ensemble_succeeded(const json_t *ensemble);
int64_t ensemble_members(const json_t *ensemble, const char *state);
/* Members in a final state. */
int64_t ensemble_finished(const json_t *ensemble);
/* The same of counts by state, and all of them. */
int64_t ensemble_final(const json_t *counts);
int64_t ensemble_sum(const json_t *counts);
/* Borrowed; NULL where it has none. */
bool ensemble_held(const json_t *ensemble); /* it was paused by the daemon, and waits for somebody to mend what is wrong */
const char *ensemble_notice(const json_t *ensemble); /* why it does not go on, "": it does, or it is over */
const json_t *ensemble_training(const json_t *ensemble);
/* The last value of a metric series of its training, or NULL. */
const json_t *ensemble_metric(const json_t *ensemble, const char *name);
/* Seconds until its estimated end, or -1 where unknown. */
double ensemble_eta(const json_t *ensemble);
#endif
