/* Keeps the network's descriptors apart from the program's: whoever opens connections to a rank, with the key or
 * without it, can use up the descriptors of the threads that serve them, but never those of the training program. */
#ifndef TASKS_TRAIN_DESCRIPTORS_H
#define TASKS_TRAIN_DESCRIPTORS_H
#include <stdbool.h>

/* Gives the calling thread, and the threads that it starts from now on, a descriptor table of their own, in which only
 * stdin, stdout, stderr and `kept` are open. Descriptors that they open are valid in these threads alone, and the limit
 * on open files holds for each table by itself. false with errno if the system refuses (some container run-times
 * do): the table is then the process's as before. The process's soft limit is raised, since there may be thousands of
 * members. */
bool descriptors_part(int kept);
#endif
