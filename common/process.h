/* Identifies processes beyond their pid, which the kernel may have given to another program since. */
#ifndef COMMON_PROCESS_H
#define COMMON_PROCESS_H
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define BOOT_ID_SIZE 40

/* Returns the start time in clock ticks since boot (field 22 of /proc/PID/stat), or 0 if there is no such process or
 * it is a zombie. */
unsigned long long process_start_time(pid_t pid);

/* Returns whether a process is stopped, by a signal or by a debugger. */
bool process_is_stopped(pid_t pid);

/* Writes the kernel's boot id to buf, "" if it is unknown. Returns buf. */
char *process_boot_id(char buf[BOOT_ID_SIZE]);

/* Sends `sig` to every process of this user that was started with NAME=VALUE in its environment, except the caller;
 * with sig 0 only counts them. Returns their number. This finds whole trees of processes, including those that left
 * their session or whose parents died. */
int process_signal_marked(const char *name, const char *value, int sig);

/* Like process_signal_marked(), but leaves out the processes of one process group, which kill(-group) reaches more
 * safely. Group 0 leaves out none. */
int process_signal_marked_outside(const char *name, const char *value, int sig, pid_t group);

/* Returns the value of a variable in the environment that a process was started with, to be freed; NULL if it has
 * none. */
char *process_environment(pid_t pid, const char *name);

/* Calls each(arg, value) for every process of this user that has NAME in its environment. */
void process_each_marked(const char *name, void (*each)(void *arg, const char *value), void *arg);
#endif
