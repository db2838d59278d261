/* A member that watches over itself: kills-member LEDGER MODE MS. It holds a lock of its member's as long as it or any
 * process that it left behind lives, and notes its start and its end; a second one at the same time would find the lock
 * taken, and say so.
 *
 *   plain     sleeps
 *   tree      waits for a child that sleeps as long
 *   stray     leaves a process behind, in a session of its own, that would sleep for long
 *   stubborn  ignores SIGTERM
 *   fail      fails at its first attempt, and every other one after it */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *ledger;

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? value : "?";
}

/* One line, in one write: lines of many writers stay whole. */
static void note(const char *what)
{
    struct timespec now;
    char path[512], line[256];
    int fd, len;

    clock_gettime(CLOCK_REALTIME, &now);
    len = snprintf(line, sizeof line, "%s %s %s %s %s %d %lld\n", what, env("STRETTO_ENSEMBLE"), env("STRETTO_MEMBER"),
                   env("STRETTO_ATTEMPT"), env("STRETTO_JOB"), (int)getpid(),
                   (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    snprintf(path, sizeof path, "%s/log", ledger);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)len) != len)
        exit(99);
    close(fd);
}

static void lock(void)
{
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/lock.%s.%s", ledger, env("STRETTO_ENSEMBLE"), env("STRETTO_MEMBER"));
    fd = open(path, O_RDWR | O_CREAT, 0600); /* inherited by all that it starts */
    if (fd < 0)
        exit(99);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return;
    note(errno == EWOULDBLOCK ? "twice" : "lock");
    exit(98);
}

static void rest(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static void leave_stray(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        setsid();
        if (fork() == 0)
            rest(60000);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *mode;
    long ms;

    if (argc != 4)
        return 97;
    ledger = argv[1];
    mode = argv[2];
    ms = atol(argv[3]);
    lock();
    note("start");
    if (strcmp(mode, "stubborn") == 0)
        signal(SIGTERM, SIG_IGN);
    if (strcmp(mode, "stray") == 0)
        leave_stray();
    if (strcmp(mode, "tree") == 0) {
        pid_t pid = fork();

        if (pid == 0) {
            rest(ms);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    } else {
        rest(ms);
    }
    if (strcmp(mode, "fail") == 0 && atoi(env("STRETTO_ATTEMPT")) % 2 == 1) {
        note("fail");
        return 1;
    }
    note("end");
    return 0;
}
