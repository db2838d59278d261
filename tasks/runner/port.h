/* A TCP port at which the processes of a task meet, and which no other task of this host has meanwhile. */
#ifndef TASKS_RUNNER_PORT_H
#define TASKS_RUNNER_PORT_H
#include <stdint.h>

/* Chooses a free port, trying ports from a place that `seed` chooses. It is a port that the kernel gives to no
 * connection by itself, that nobody has bound, and that no other runner of this host holds. Returns it, with a
 * descriptor in *lock that holds it until that is closed. Returns 0 if there is none; *lock is then -1. */
int port_take(uint32_t seed, int *lock);

#endif
