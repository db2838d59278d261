/* Threads that a library runs beside those of the program that uses it. */
#ifndef COMMON_THREAD_H
#define COMMON_THREAD_H
#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Starts a thread with all signals blocked: they belong to the program, and must not be delivered to a thread that it
 * does not know. Returns 0 or an errno value. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
/* Initialises a condition whose timed waits go by CLOCK_MONOTONIC. */
void thread_cond_init(pthread_cond_t *cond);
/* Returns the moment so many milliseconds from now, for such a wait. */
struct timespec thread_moment(int64_t ms);

#endif
