/* The state that a rank takes over from the checkpoint that its training goes on from: the program's state, which
 * samples are learnt, and samples that the generation before had acknowledged and not drawn. The number of ranks may be
 * another one: each sample belongs to one of the new ranks (tasks/proto/dealing.h). */
#ifndef TASKS_TRAIN_RESUME_H
#define TASKS_TRAIN_RESUME_H
#include "tasks/train/config.h"
#include "tasks/train/cut.h"

#include <stdbool.h>

/* All zero if the training begins at the start. */
struct resume {
    char *state;     /* the path of this rank's state, or else of rank 0's */
    int64_t step;    /* at which it was saved */
    int ranks;       /* how many ranks saved it */
    struct cut cut;  /* this rank's part of what was drawn; a member is whole if it is so on all ranks */
    char **handover; /* paths of files with items for this rank and for others (handover.h) */
    size_t handovers;
};

/* Sets the checkpoint in the configuration after a restart. The training goes on from the newest one of its generation,
 * if there is one, and not from the one that the generation began with. Returns 0, or -1 with err. */
int resume_choose(struct train_config *config, struct error *err);

/* Reads the checkpoint that the configuration names, if it names one. If the training only starts from a checkpoint of
 * another ensemble's, reads only the state. Returns -1 with err, whose code is "train_resume" if the checkpoint is
 * damaged. */
int resume_load(const struct train_config *config, struct resume *resume, struct error *err);
/* Takes the checkpoint out of checkpoints.json, if it was given up because it is damaged: so the next generation goes
 * on from the one before. */
void resume_give_up(const struct train_config *config, const struct error *err);
void resume_fini(struct resume *resume);

/* Returns whether this rank has to do with that sample. */
bool resume_is_ours(const struct train_config *config, uint64_t member, int64_t step);
#endif
