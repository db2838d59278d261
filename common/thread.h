/* Threads of a library beside those of the program that uses it. */
#ifndef COMMON_THREAD_H
#define COMMON_THREAD_H
#include <pthread.h>

/* Starts it with all signals blocked: they are the program's, and must not land in a thread that it does not know. 0, or an errno value. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
/* A condition whose timed waits end by CLOCK_MONOTONIC. */
void thread_cond_init(pthread_cond_t *cond);

#endif
