#include "tasks/runner/tree.h"

#include "common/process.h"
#include "common/xalloc.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* False if there is no such process, or it is a zombie. */
static bool read_process(pid_t pid, struct tree_process *p)
{
    unsigned long long user, system, children_user, children_system;
    char path[64], buf[1024], *name, *after_name;
    int parent, session, fd;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, buf, sizeof buf - 1);
    close(fd);
    buf[n > 0 ? n : 0] = '\0';
    name = strchr(buf, '(');
    after_name = strrchr(buf, ')');
    if (name == NULL || after_name == NULL || after_name < name ||
        sscanf(after_name + 1, " %c %d %*s %d %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu %*s %*s %*s %*s %llu",
               &p->state, &parent, &session, &user, &system, &children_user, &children_system, &p->start) != 8)
        return false;
    p->pid = pid;
    *after_name = '\0';
    snprintf(p->name, sizeof p->name, "%.15s", name + 1);
    p->parent = parent;
    p->session = session;
    p->ticks = user + system + children_user + children_system;
    return p->state != 'Z' && p->state != 'X';
}

static int by_pid(const void *a, const void *b)
{
    pid_t left = ((const struct tree_process *)a)->pid, right = ((const struct tree_process *)b)->pid;

    return left < right ? -1 : left > right;
}

static struct tree_process *tree_find(const struct tree *tree, pid_t pid)
{
    struct tree_process key = {.pid = pid};

    return tree->n > 0 ? bsearch(&key, tree->items, tree->n, sizeof key, by_pid) : NULL;
}

static void read_all(struct tree *tree)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    size_t room = 0;
    struct stat st;

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        struct tree_process p = {.task = TREE_UNOWNED};

        if (!isdigit((unsigned char)entry->d_name[0]) || atoi(entry->d_name) == getpid() ||
            fstatat(dirfd(proc), entry->d_name, &st, 0) < 0 || st.st_uid != geteuid() ||
            !read_process((pid_t)atoi(entry->d_name), &p))
            continue;
        if (tree->n == room) {
            room = room > 0 ? 2 * room : 256;
            tree->items = xrealloc(tree->items, room, sizeof *tree->items);
        }
        tree->items[tree->n++] = p;
    }
    if (proc != NULL)
        closedir(proc);
    if (tree->n > 0)
        qsort(tree->items, tree->n, sizeof *tree->items, by_pid);
}

static bool tree_is_below(const struct tree *tree, const struct tree_process *p)
{
    /* a process id that was used again might close a circle */
    for (size_t depth = 0; p != NULL && depth <= tree->n; depth++) {
        if (p->parent == getpid())
            return true;
        p = tree_find(tree, p->parent);
    }
    return false;
}

static size_t tree_owner(const struct tree_process *p, const struct tree_task *tasks, size_t n)
{
    char *mark = process_environment(p->pid, "STRETTO_TASK");
    size_t found = TREE_UNOWNED;

    for (size_t i = 0; mark != NULL && found == TREE_UNOWNED && i < n; i++)
        if (strcmp(mark, tasks[i].mark) == 0)
            found = i;
    free(mark);
    /* the id of a session may be used again when nobody is left in it, but not below the runner, which starts each task
     * once */
    for (size_t i = 0; p->below && found == TREE_UNOWNED && i < n; i++)
        if (tasks[i].session > 0 && p->session == tasks[i].session)
            found = i;
    return found;
}

static size_t tree_inherited(const struct tree *tree, const struct tree_process *p)
{
    for (size_t depth = 0; p != NULL && depth <= tree->n; depth++) {
        if (p->task != TREE_UNOWNED)
            return p->task;
        p = tree_find(tree, p->parent);
    }
    return TREE_UNOWNED;
}

void tree_look(struct tree *tree, const struct tree_task *tasks, size_t n)
{
    unsigned long long started = process_start_time(getpid());

    *tree = (struct tree){0};
    read_all(tree);
    for (size_t i = 0; i < tree->n; i++) {
        struct tree_process *p = &tree->items[i];

        p->below = tree_is_below(tree, p);
        /* processes older than the caller are of no task, and are most of a node's processes */
        p->task = n > 0 && (p->below || p->start >= started) ? tree_owner(p, tasks, n) : TREE_UNOWNED;
    }
    for (size_t i = 0; i < tree->n; i++)
        if (tree->items[i].below)
            tree->items[i].task = tree_inherited(tree, &tree->items[i]);
}

void tree_free(struct tree *tree)
{
    free(tree->items);
    *tree = (struct tree){0};
}

static bool is_meant(const struct tree_process *p, size_t task)
{
    if (task == TREE_ALL)
        return p->below || p->task != TREE_UNOWNED;
    return p->task == task && (task != TREE_UNOWNED || p->below);
}

int tree_signal(const struct tree *tree, size_t task, int sig)
{
    struct tree_process now;
    int count = 0;

    for (size_t i = 0; i < tree->n; i++)
        if (is_meant(&tree->items[i], task) && read_process(tree->items[i].pid, &now) &&
            now.start == tree->items[i].start && (sig == 0 || kill(now.pid, sig) == 0))
            count++;
    return count;
}

int tree_signal_below(int sig)
{
    struct tree tree;
    int count;

    tree_look(&tree, NULL, 0);
    count = tree_signal(&tree, TREE_ALL, sig);
    tree_free(&tree);
    return count;
}

void tree_signal_running(pid_t leader, const char *mark, int sig)
{
    kill(-leader, sig);
    process_signal_marked_outside("STRETTO_TASK", mark, sig, leader);
}

ssize_t tree_children(void)
{
    FILE *f = fopen("/proc/thread-self/children", "re");
    ssize_t n = 0;
    int pid;

    if (f == NULL)
        return -1;
    while (fscanf(f, "%d", &pid) == 1)
        n++;
    fclose(f);
    return n;
}
