/* Watches for the daemon's messages to the ranks (docs/run-directory.md): reception.json says that no more members will
 * come, and last.json that the ranks are to save a last checkpoint and end. Watches, too, whether a checkpoint still
 * comes for which reception waits (patience.h). A thread of its own does it, with the program's descriptors: strangers
 * may have used up those of the receiver. */
#ifndef TASKS_TRAIN_RECEPTION_H
#define TASKS_TRAIN_RECEPTION_H
#include "tasks/train/receiver.h"
#include "tasks/train/saver.h"

struct reception;

/* Starts the thread, which calls receiver_over() once, saver_warn(), and kept_give_up(); `saver` and `kept` may be
 * NULL. The arguments outlive it. NULL on failure. */
struct reception *reception_watch(const struct train_config *config, struct receiver *receiver, struct saver *saver,
                                  struct kept *kept, struct pool *pool, struct error *err);

/* NULL is allowed. */
void reception_stop(struct reception *reception);
#endif
