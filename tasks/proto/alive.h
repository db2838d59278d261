/* The sign of life of a program that waits in the library and so uses no CPU time: its runner must not take it for
 * hung. The library sets the time of the file that STRETTO_ALIVE names, at most once in the milliseconds of
 * STRETTO_ALIVE_MS. The runner sets these variables if the spec has "silence"; without them nothing is done. Call it
 * from the thread that works, or that is known to wait for the other side. Never call it from a thread that goes on
 * while the program is hung. */
#ifndef TASKS_PROTO_ALIVE_H
#define TASKS_PROTO_ALIVE_H
#include <stdbool.h>
#include <stdint.h>

void alive_sign(void);

/* Notes in the same file whether the program learns from batches that the library gives out: the file then has a byte.
 * Ranks that all learn, and are all silent, wait for each other (tasks/runner/silence.h). */
void alive_learning(bool learning);

/* Returns how long a wait may last before the next sign is due, in ms; INT64_MAX: no sign is wanted. */
int64_t alive_pause_ms(void);

#endif
