#ifndef SCHEDULER_ADAPTERS_COMMAND_MEMORY_H
#define SCHEDULER_ADAPTERS_COMMAND_MEMORY_H
#include <stdint.h>

/* Returns the bytes that a process and those that it started have in use (resident); 0 if it is gone. */
int64_t command_memory(int pid);

#endif
