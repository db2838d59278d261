/* The steps that a training lacks, if the spec says how many there are. */
#ifndef DAEMON_ENGINE_TRAININGS_MISSING_H
#define DAEMON_ENGINE_TRAININGS_MISSING_H
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct live_ensemble;
struct training_row;

bool missing_is_known(const struct live_ensemble *ens); /* true also if the missing steps need not be counted */
/* Counts the missing steps, and reports FACT_STEPS_COUNTED then. */
void missing_find(struct engine *engine, struct live_ensemble *ens);
/* Returns how many steps are missing. *detail is a new reference or NULL, and says whose steps they are. */
int64_t missing_steps(const struct training_row *row, json_t **detail);
void missing_tell(const json_t *detail, char *out, size_t size); /* writes it as a sentence */

#endif
