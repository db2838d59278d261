/* The processes that a job's tasks have started, as they were at one look at /proc.
 *
 * The runner is a subreaper, so that every process that descends from a task stays below it, whatever the process did to its
 * session and its environment. Which task such a process belongs to is told by STRETTO_TASK in the environment that it was
 * started with, else by its session, else by its parent. A launcher may have other programs start processes that are not below the
 * runner (srun does): these are found by STRETTO_TASK alone. */
#ifndef TASKS_RUNNER_TREE_H
#define TASKS_RUNNER_TREE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* In place of a task's number. */
#define TREE_UNOWNED ((size_t)-1) /* below the runner, and of no task that is known */
#define TREE_ALL ((size_t)-2)     /* all that is below the runner, or a task's */

struct tree_task {
    const char *mark; /* STRETTO_TASK: "JOB/ID" */
    pid_t session;    /* that its first process has led; 0: it was never started */
};

struct tree_process {
    pid_t pid, parent, session;
    char name[16];            /* of its program, cut to 15 bytes */
    char state;               /* as in /proc/PID/stat */
    unsigned long long start; /* in clock ticks since boot */
    unsigned long long ticks; /* CPU time of the process, and of its children that it has waited for */
    size_t task;              /* TREE_UNOWNED: none */
    bool below;               /* the caller */
};

struct tree {
    struct tree_process *items; /* by pid; the caller itself is not among them, nor are zombies */
    size_t n;
};

/* Free with tree_free(). Where /proc cannot be read, the tree is empty. */
void tree_look(struct tree *tree, const struct tree_task *tasks, size_t n);
void tree_free(struct tree *tree);

/* Signal every process of the task with this number, or of TREE_UNOWNED or TREE_ALL, that still is the one that was seen. With
 * signal 0 they are only counted. Returns how many there were. */
int tree_signal(const struct tree *tree, size_t task, int sig);

/* Look, and signal everything that is below the caller. */
int tree_signal_below(int sig);

/* Signal the processes of a task that runs, each once: the process group that its first process leads, and those outside of it that
 * carry the task's mark. What carries none is left to the launcher that has started it, as long as that runs. */
void tree_signal_running(pid_t leader, const char *mark, int sig);

/* How many children the caller, which has one thread, has, those that were not waited for included; -1 where the kernel
 * does not tell. */
ssize_t tree_children(void);

#endif
