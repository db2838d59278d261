/* The local adapter with its starter (tasks/proto/starter.h), and a look at the processes that come of it. */
#ifndef TESTS_STARTER_RIG_H
#define TESTS_STARTER_RIG_H
#include "scheduler-adapters/local.h"
#include "tests/unit/adapter_harness.h"

#define A_COPY 1000 /* bytes of arguments: those of one that was started anew end with its directory */

extern struct harness rig;

const struct adapter_ops *rig_ops(void);

/* Opens the adapter. The first job asks for a starter, and is started anew; those after it are, too, until it is known
 * that there is one, which is when this returns 0. */
int rig_open_with(const char *config);

/* Reads a file of a process, NULs and all, into `text`. Returns its size; 0 and "" if there is none. */
size_t rig_proc(pid_t pid, const char *name, char *text, size_t size);
/* Returns whether one of the strings in such a file, each ended by NUL, is this one. */
bool rig_holds(const char *text, size_t size, const char *string);
/* Returns the number of descriptors that a process has. */
int rig_descriptors(pid_t pid);
/* Returns our child of that name; 0: there is none, or no longer. */
pid_t rig_child(const char *name);

/* Runs a job of its own, which goes on until harness_let_go(). Returns its runner; `text` is to be freed. */
pid_t rig_begin(struct harness_job *job, char **text);
/* Waits for the end of the job, which has succeeded and has given its record back, once. Frees `text`. */
void rig_expect_success(struct harness_job *job, char *text);

#endif
