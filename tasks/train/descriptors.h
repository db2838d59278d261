/* Keeps the network's descriptors apart from the program's. Anybody who opens connections to a rank, with the key or
 * without it, can use up the descriptors of the threads that serve them. The training program's own descriptors are
 * never used up in this way. */
#ifndef TASKS_TRAIN_DESCRIPTORS_H
#define TASKS_TRAIN_DESCRIPTORS_H
#include <stdbool.h>

/* Gives the calling thread, and the threads that it starts from now on, a descriptor table of their own. Only stdin,
 * stdout, stderr and `kept` are open in it. Descriptors that these threads open are valid in them alone, and each table
 * has the full limit on open files. The process's soft limit is raised, since there may be thousands of members.
 *
 * Returns false with errno if the system refuses, as some container run-times do. The table is then the process's as
 * before. */
bool descriptors_part(int kept);
#endif
