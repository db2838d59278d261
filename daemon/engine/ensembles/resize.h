/* Changing the width of an ensemble, as engine_resize() does, without settling. `by` is a phrase that says who asks. */
#ifndef DAEMON_ENGINE_ENSEMBLES_RESIZE_H
#define DAEMON_ENGINE_ENSEMBLES_RESIZE_H
#include <stdint.h>

struct engine;
struct error;
struct live_ensemble;

int resize_width(struct engine *engine, struct live_ensemble *ens, int64_t width, const char *by, struct error *err);

#endif
