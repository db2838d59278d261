/* Reads an ensemble object as GET /v1/ensembles/ID gives it. */
#ifndef CLI_ENSEMBLE_H
#define CLI_ENSEMBLE_H
#include "cli/client.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns whether nothing more will happen: it is complete, or it is cancelled and everything that ran has ended. */
bool ensemble_ended(const json_t *ensemble);
/* Returns whether it is complete, every member succeeded, and its training, if it has one, is done. */
bool ensemble_succeeded(const json_t *ensemble);
int64_t ensemble_members(const json_t *ensemble, const char *state);
/* Counts the members in a final state. */
int64_t ensemble_finished(const json_t *ensemble);
/* Count the members in a final state, and all members, in an object of counts by state. */
int64_t ensemble_final(const json_t *counts);
int64_t ensemble_sum(const json_t *counts);
/* ensemble_training() is borrowed, and NULL if the ensemble has none. */
/* Returns whether the daemon paused it, or one that it waits for, so that it waits until somebody removes the cause. */
bool ensemble_held(const json_t *ensemble);
/* Returns why it does not go on; "" if it does, or has ended. */
const char *ensemble_notice(const json_t *ensemble);
const json_t *ensemble_training(const json_t *ensemble);
/* Asks the daemon for the id of an ensemble's training. Returns -1 with err; its code is "training_not_found" if the
 * ensemble has none. */
int64_t ensemble_training_id(struct client *client, int64_t ensemble, struct error *err);
/* Returns the last value of a metric of its training, or NULL. */
const json_t *ensemble_metric(const json_t *ensemble, const char *name);
/* Returns the seconds until its estimated end, or -1 if that is not known. */
double ensemble_eta(const json_t *ensemble);
#endif
