/* Copies of parameter files, one for each ensemble that names one. */
#ifndef DAEMON_ENGINE_MEMORY_ROWS_H
#define DAEMON_ENGINE_MEMORY_ROWS_H
#include <stdint.h>

struct engine;
struct error;
struct rows;

int engine_store_rows(struct engine *engine, int64_t ensemble, const struct rows *rows, struct error *err);
/* *rows is NULL if the ensemble has none. */
int engine_open_rows(struct engine *engine, int64_t ensemble, struct rows **rows, struct error *err);

#endif
