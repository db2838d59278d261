/* An ensemble that begins when another has completed, with all of its follow-ups. Until then its row has the other
 * one's id in `after`, and nothing of it is started; when it begins, `after` becomes 0. If the other one fails or is
 * cancelled, it fails. */
#ifndef DAEMON_ENGINE_ENSEMBLES_AFTER_H
#define DAEMON_ENGINE_ENSEMBLES_AFTER_H
#include <stdbool.h>
#include <stddef.h>

struct engine;
struct ensemble_row;
struct error;
struct live_ensemble;
struct spec;

/* Checks at its submission that the ensemble after which it is to begin is there, and may still complete. */
int after_check(struct engine *engine, const struct spec *spec, struct error *err);

/* Looks whether an ensemble that waits may begin, or never will: then it fails. Returns whether it goes on waiting. */
bool after_look(struct engine *engine, struct live_ensemble *ens);

/* Writes for people what an ensemble waits for, and why that does not go on where it does not. Returns the code of the
 * notice. */
const char *after_explain(struct engine *engine, const struct ensemble_row *row, char *out, size_t size);
#endif
