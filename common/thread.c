#include "common/thread.h"

#include <signal.h>
#include <time.h>

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void thread_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
