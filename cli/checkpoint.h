/* Shows checkpoints of members and trainings in tables. */
#ifndef CLI_CHECKPOINT_H
#define CLI_CHECKPOINT_H
#include "cli/table.h"

#include <jansson.h>

#define CHECKPOINT_HEADERS ">step", ">bytes", "time", "checkpoint"

/* Adds the cells below these headers for a checkpoint as the API gives it. */
void checkpoint_cells(struct table *table, const json_t *checkpoint);
#endif
