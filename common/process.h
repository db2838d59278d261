/* Who a process is: a pid alone may have been given to another program since. */
#ifndef COMMON_PROCESS_H
#define COMMON_PROCESS_H
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define BOOT_ID_SIZE 40

/* Start time in clock ticks since boot (field 22 of /proc/PID/stat), or 0 where there is no such process, or it is a
 * zombie. */
unsigned long long process_start_time(pid_t pid);

/* Is it stopped, by a signal or by whoever traces it? */
bool process_is_stopped(pid_t pid);

/* The kernel's boot id; "" where unknown. Returns buf. */
char *process_boot_id(char buf[BOOT_ID_SIZE]);

/* Send `sig` to every process of this user that carries NAME=VALUE in the environment it was started with, the caller
 * excepted; with sig 0 only count them. Returns their number. This finds whole process trees, also those that left
 * their session or whose parents died. */
int process_signal_marked(const char *name, const char *value, int sig);

/* The same but for the processes of one process group, which kill(-group) reaches better. 0: no group. */
int process_signal_marked_outside(const char *name, const char *value, int sig, pid_t group);

/* The value of a variable in the environment that a process was started with, to be freed; NULL where there is none. */
char *process_environment(pid_t pid, const char *name);

/* Call each(arg, value) for every process of this user that carries NAME with a value. */
void process_each_marked(const char *name, void (*each)(void *arg, const char *value), void *arg);
#endif
