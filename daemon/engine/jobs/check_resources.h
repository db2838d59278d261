/* Checks whether the jobs that a spec asks for can ever run here. */
#ifndef DAEMON_ENGINE_JOBS_CHECK_RESOURCES_H
#define DAEMON_ENGINE_JOBS_CHECK_RESOURCES_H

struct engine;
struct error;
struct spec;

/* Checks that the spec could run here. Fails with a code and a pointer into the spec. */
int engine_check_resources(struct engine *engine, const struct spec *spec, struct error *err);

#endif
