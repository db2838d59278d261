/* Checkpoints of members in tables. */
#ifndef CLI_CHECKPOINT_H
#define CLI_CHECKPOINT_H
#include "cli/table.h"

#include <jansson.h>

#define CHECKPOINT_HEADERS ">step", ">bytes", "time", "checkpoint"

/* The cells below them, of a checkpoint as the API gives it. */
void checkpoint_cells(struct table *table, const json_t *checkpoint);
#endif
