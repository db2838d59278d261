/* Taking a spec that was submitted. */
#ifndef DAEMON_ENGINE_SUBMIT_H
#define DAEMON_ENGINE_SUBMIT_H

struct engine;
struct ensemble_row;
struct error;
struct spec;

/* Checks that the spec could run here. Fails with a code and a pointer into the spec. */
int engine_check_resources(struct engine *engine, const struct spec *spec, struct error *err);
void engine_draw_stream_key(struct engine *engine, struct ensemble_row *row);

#endif
