/* Watches for reception.json, by which the daemon tells that no more members will come (docs/run-directory.md). A
 * thread of its own does it, with the program's descriptors: strangers may have used up those of the receiver. */
#ifndef TASKS_TRAIN_RECEPTION_H
#define TASKS_TRAIN_RECEPTION_H
#include "tasks/train/receiver.h"

struct reception;

/* Starts the thread, which calls receiver_over() once. The arguments outlive it. NULL on failure. */
struct reception *reception_watch(const struct train_config *config, struct receiver *receiver, struct error *err);

/* NULL is allowed. */
void reception_stop(struct reception *reception);
#endif
