#include "tasks/runner/tree.h"

#include "common/process.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tree_signal_task(pid_t leader, const char *mark, int sig)
{
    if (leader > 0)
        kill(-leader, sig);
    return process_signal_marked_outside("STRETTO_TASK", mark, sig, leader);
}

/* 0 where there is no such process. */
static pid_t parent_of(const char *pid)
{
    char path[300], buf[512], *p;
    ssize_t n;
    int fd, parent;

    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, buf, sizeof buf - 1);
    close(fd);
    buf[n > 0 ? n : 0] = '\0';
    p = strrchr(buf, ')');
    return p != NULL && sscanf(p + 1, " %*c %d", &parent) == 1 ? (pid_t)parent : 0;
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

int tree_signal_children(int sig)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int count = 0;

    if (proc == NULL)
        return 0;
    while ((entry = readdir(proc)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == getpid() &&
            kill((pid_t)atoi(entry->d_name), sig) == 0) /* ours, and not waited for: the number cannot be another's */
            count++;
    closedir(proc);
    return count;
}
