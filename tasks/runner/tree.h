/* The processes that a job's tasks have started, as they were at one look at /proc.
 *
 * The runner is a subreaper, so that every process that descends from a task stays below it, whatever the process did
 * to its session and its environment. The task of such a process is found by STRETTO_TASK in the environment that it
 * was started with, else by its session, else by its parent. A launcher may have other programs start processes that
 * are not below the runner (srun does): these are found by STRETTO_TASK alone. */
#ifndef TASKS_RUNNER_TREE_H
#define TASKS_RUNNER_TREE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Values in place of a task's number. */
#define TREE_UNOWNED ((size_t)-1) /* below the runner, and of no known task */
#define TREE_ALL ((size_t)-2)     /* all processes below the runner, or of a task */

struct tree_task {
    const char *mark; /* STRETTO_TASK: "JOB/ID" */
    pid_t session;    /* the session that its first process has led; 0: it was never started */
};

struct tree_process {
    pid_t pid, parent, session;
    char name[16];            /* of its program, cut to 15 bytes */
    char state;               /* as in /proc/PID/stat */
    unsigned long long start; /* in clock ticks since boot */
    unsigned long long ticks; /* CPU time of the process, and of its children that it has waited for */
    size_t task;              /* TREE_UNOWNED: none */
    bool below;               /* it descends from the caller */
};

struct tree {
    struct tree_process *items; /* by pid, without the caller and without zombies */
    size_t n;
};

/* Looks at /proc; if it cannot be read, the tree is empty. The caller frees it by tree_free(). */
void tree_look(struct tree *tree, const struct tree_task *tasks, size_t n);
void tree_free(struct tree *tree);

/* Signals every process of the task with this number, or of TREE_UNOWNED or TREE_ALL, that still is the one that was
 * seen. Signal 0 only counts them. Returns how many there were. */
int tree_signal(const struct tree *tree, size_t task, int sig);

/* Looks, and signals every process below the caller. */
int tree_signal_below(int sig);

/* Signals the processes of a running task, each once: the process group that its first process leads, and processes
 * outside of it that carry the task's mark. Processes without the mark are left to the launcher that has started them,
 * as long as it runs. */
void tree_signal_running(pid_t leader, const char *mark, int sig);

/* Returns how many children the caller, which has one thread, has, including those that were not waited for; -1 if the
 * kernel does not report it. */
ssize_t tree_children(void);

#endif
