/* The launcher "copies": the runner itself starts the command of a task several times, as the ranks of a distributed
 * program.
 *
 * A process of its own, `stretto-run --copies`, is the task's first process. On each host it starts as many copies as
 * STRETTO_HOSTS has slots there, and gives each RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE and its part of the CPUs
 * and GPUs. When one copy fails the others are ended, and it ends as that one did. */
#ifndef TASKS_RUNNER_COPIES_H
#define TASKS_RUNNER_COPIES_H
#include "tasks/proto/jobdesc.h"

#include <stdbool.h>
#include <stdint.h>

#define COPIES_LAUNCHER "copies"
#define COPIES_WORDS 16

struct copies_words {
    const char *list[COPIES_WORDS]; /* ended by NULL */
    char runner[4096], grace[24], nodes[40], ntasks[40];
};

bool copies_are_meant(const struct jobdesc_task *task);

/* Makes the command that starts the copies: on one node this program itself, on several Slurm's srun, which starts it
 * on each. */
void copies_launch(struct copies_words *words, const struct jobdesc_task *task, int64_t grace_ms);

/* `stretto-run --copies GRACE_MS COMMAND...`. Returns an exit status, or dies by the signal by which a copy died. */
int copies_main(int argc, char **argv);

#endif
