#include "common/process.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads the state letter and the start time from /proc/PID/stat. The command name before them may hold blanks and
 * parentheses. */
static int read_stat(pid_t pid, char *state, unsigned long long *start)
{
    char path[64], buf[1024], *p;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    n = read(fd, buf, sizeof buf - 1);
    close(fd);
    if (n <= 0)
        return -1;
    buf[n] = '\0';
    p = strrchr(buf, ')');
    if (p == NULL || sscanf(p + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                            state, start) != 2)
        return -1;
    return 0;
}

unsigned long long process_start_time(pid_t pid)
{
    unsigned long long start;
    char state;

    if (pid <= 0 || read_stat(pid, &state, &start) < 0 || state == 'Z' || state == 'X')
        return 0;
    return start;
}

bool process_is_stopped(pid_t pid)
{
    unsigned long long start;
    char state;

    return pid > 0 && read_stat(pid, &state, &start) == 0 && (state == 'T' || state == 't');
}

char *process_boot_id(char buf[BOOT_ID_SIZE])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, BOOT_ID_SIZE - 1);

    if (fd >= 0)
        close(fd);
    buf[n > 0 ? n : 0] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
    return buf;
}

/* Returns the value of a variable in the environment that a process was started with, to be freed; NULL if it has
 * none. */
static char *environ_get(int dirfd, const char *pid, const char *name)
{
    char path[300], *line = NULL, *value = NULL;
    size_t cap = 0, name_len = strlen(name);
    ssize_t n;
    FILE *f;
    int fd;

    snprintf(path, sizeof path, "%s/environ", pid);
    fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    f = fdopen(fd, "r");
    if (f == NULL) {
        close(fd);
        return NULL;
    }
    while (value == NULL && (n = getdelim(&line, &cap, '\0', f)) > 0)
        if (strncmp(line, name, name_len) == 0 && line[name_len] == '=')
            value = strdup(line + name_len + 1);
    free(line);
    fclose(f);
    return value;
}

char *process_environment(pid_t pid, const char *name)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return environ_get(AT_FDCWD, path, name);
}

static int environ_has(int dirfd, const char *pid, const char *name, const char *value)
{
    char *there = environ_get(dirfd, pid, name);
    int same = there != NULL && strcmp(there, value) == 0;

    free(there);
    return same;
}

void process_each_marked(const char *name, void (*each)(void *arg, const char *value), void *arg)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    struct stat st;
    char *value;

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) || fstatat(dirfd(proc), entry->d_name, &st, 0) < 0 ||
            st.st_uid != geteuid())
            continue;
        value = environ_get(dirfd(proc), entry->d_name, name);
        if (value != NULL)
            each(arg, value);
        free(value);
    }
    if (proc != NULL)
        closedir(proc);
}

int process_signal_marked(const char *name, const char *value, int sig)
{
    return process_signal_marked_outside(name, value, sig, 0);
}

int process_signal_marked_outside(const char *name, const char *value, int sig, pid_t group)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int count = 0;

    if (proc == NULL)
        return 0;
    while ((entry = readdir(proc)) != NULL) {
        struct stat st;
        unsigned long long before;
        pid_t pid;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid = (pid_t)atoi(entry->d_name);
        /* nearly all lack the mark, which is therefore looked for first */
        if (pid == getpid() || fstatat(dirfd(proc), entry->d_name, &st, 0) < 0 || st.st_uid != geteuid() ||
            !environ_has(dirfd(proc), entry->d_name, name, value))
            continue;
        before = process_start_time(pid);
        if (before == 0 || (group > 0 && getpgid(pid) == group))
            continue;
        /* the pid may have passed to another process meanwhile */
        if (!environ_has(dirfd(proc), entry->d_name, name, value) || process_start_time(pid) != before)
            continue;
        if (sig == 0 || kill(pid, sig) == 0)
            count++;
    }
    closedir(proc);
    return count;
}
