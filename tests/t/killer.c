/* Loaded into programs of ours by LD_PRELOAD, for the tests that kill: ends the process by SIGKILL right before or
 * right after a chosen call of the C library, so that a kill hits one moment exactly.
 *
 *   KILLER_strettod=FUNCTION:N:before|after    at its N-th call of FUNCTION ("any": of all those below); with ":late"
 *                                              at the end, calls count from the first connection on
 *   KILLER_stretto_run=…                       the same for each runner, in each of its jobs
 *   KILLER_LOTS=SEED:PERCENT[:FIRST]           in that many of a hundred jobs the runner draws a moment, by the job's
 *                                              number; jobs below FIRST are spared
 *   KILLER_SIGNAL=NUMBER                      that signal instead, once
 *   KILLER_LOG=FILE                            gets a line for each kill: PROGRAM PID FUNCTION N before|after
 *
 * Other programs, and children that have not become a program yet, are left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The calls of a runner, and about how often it makes them; half of the lots fall on these, the others on any call. */
static const struct {
    const char *function;
    long n;
} lots[] = {{"open", 7}, {"write", 3},  {"fsync", 3},    {"link", 1},  {"unlink", 1},
            {"fork", 1}, {"rename", 2}, {"zmq_send", 3}, {"mkdir", 15}};
#define ANY_MAX 60

static struct {
    pid_t pid; /* 0: not armed */
    char program[32], function[32];
    long n;
    bool before, any, late;
    atomic_bool connected;
    const char *log;
    int signal;
    atomic_long calls;
} plan;

static void die(void)
{
    char line[128];
    int len = snprintf(line, sizeof line, "%s %d %s %ld %s\n", plan.program, (int)plan.pid, plan.function, plan.n,
                       plan.before ? "before" : "after");
    int fd = plan.log != NULL ? (int)syscall(SYS_openat, AT_FDCWD, plan.log, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;

    if (fd >= 0)
        syscall(SYS_write, fd, line, len);
    do
        syscall(SYS_kill, plan.pid, plan.signal);
    while (plan.signal == SIGKILL);
}

/* Is this the call, after which it is to die? */
static bool is_due(const char *function)
{
    if (plan.pid == 0 || (!plan.any && strcmp(function, plan.function) != 0) || getpid() != plan.pid)
        return false;
    if (plan.late && !atomic_load(&plan.connected))
        return false;
    if (atomic_fetch_add(&plan.calls, 1) + 1 != plan.n)
        return false;
    snprintf(plan.function, sizeof plan.function, "%s", function);
    if (plan.before)
        die();
    return !plan.before;
}

/* Only the process that made the call: fork() returns twice. */
static void after(bool due)
{
    if (due && getpid() == plan.pid)
        die();
}

static bool is_due_accept(void)
{
    bool due = is_due("accept4");

    atomic_store(&plan.connected, true);
    return due;
}

static bool parse(const char *text)
{
    char when[8], late[8] = "";

    if (text == NULL || sscanf(text, "%31[a-z0-9_]:%ld:%7[a-z]:%7s", plan.function, &plan.n, when, late) < 3)
        return false;
    plan.late = late[0] != '\0';
    plan.before = strcmp(when, "before") == 0;
    plan.any = strcmp(plan.function, "any") == 0;
    return true;
}

/* The job's number is what comes last in its name, and in that of its directory. */
static bool draw(const char *how, const char *job_name)
{
    const char *number = job_name ? strrchr(job_name, '-') : NULL;
    unsigned long long seed, x, job, first = 0;
    unsigned percent;

    if (how == NULL || number == NULL || sscanf(how, "%llu:%u:%llu", &seed, &percent, &first) < 2)
        return false;
    job = strtoull(number + 1, NULL, 10);
    if (job < first)
        return false;
    x = (seed << 32) ^ job;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL; /* splitmix64 */
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    x ^= x >> 31;
    if (x % 100 >= percent)
        return false;
    plan.before = (x >> 40) & 1;
    plan.any = (x >> 41) & 1;
    plan.n = (long)((x >> 8) % ANY_MAX) + 1;
    if (!plan.any) {
        size_t i = (x >> 42) % (sizeof lots / sizeof *lots);

        snprintf(plan.function, sizeof plan.function, "%s", lots[i].function);
        plan.n = (long)((x >> 8) % (unsigned long long)lots[i].n) + 1;
    }
    return true;
}

/* Makes a plan for this process, and, where it is a runner, for this job. */
static void arm(const char *job_name)
{
    char name[64] = "KILLER_";

    snprintf(name + 7, sizeof name - 7, "%s", plan.program);
    for (char *c = name; *c; c++)
        if (*c == '-')
            *c = '_';
    atomic_store(&plan.calls, 0);
    plan.pid = 0;
    if (parse(getenv(name)) || (strcmp(name, "KILLER_stretto_run") == 0 && draw(getenv("KILLER_LOTS"), job_name)))
        plan.pid = getpid();
}

/* The process that stands by to become the runners is none itself, and is not told when a copy of it does: that is at
 * its first call of setsid(). Its orders begin with the job's name (tasks/proto/starter.h). */
static bool stands_by;
static char ordered[256];

__attribute__((constructor)) static void begin(int argc, char **argv)
{
    snprintf(plan.program, sizeof plan.program, "%s", program_invocation_short_name);
    plan.log = getenv("KILLER_LOG");
    plan.signal = getenv("KILLER_SIGNAL") ? atoi(getenv("KILLER_SIGNAL")) : SIGKILL;
    stands_by = argc >= 2 && strcmp(argv[1], "--starter") == 0;
    if (!stands_by)
        arm(argc >= 2 ? argv[argc - 1] : NULL);
}

#define NEXT(name)                                                                                                     \
    static __typeof__(&name) next;                                                                                     \
    if (next == NULL && (next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)) == NULL)                                   \
    abort()

#define WRAP(type, name, parameters, arguments) WRAP_IF(is_due(#name), type, name, parameters, arguments)
#define WRAP_IF(condition, type, name, parameters, arguments)                                                          \
    type name parameters                                                                                               \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        bool due = condition;                                                                                          \
        type result = next arguments;                                                                                  \
        int saved = errno;                                                                                             \
        after(due);                                                                                                    \
        errno = saved;                                                                                                 \
        return result;                                                                                                 \
    }

pid_t setsid(void)
{
    NEXT(setsid);

    if (stands_by)
        arm(ordered);
    stands_by = false;
    return next();
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    NEXT(recvmsg);
    ssize_t n = next(fd, message, flags);

    if (n > 0 && stands_by)
        snprintf(ordered, sizeof ordered, "%.*s", (int)n, (const char *)message->msg_iov[0].iov_base);
    return n;
}

int zmq_send(void *socket, const void *data, size_t size, int flags);

WRAP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WRAP(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
WRAP(ssize_t, writev, (int fd, const struct iovec *parts, int n), (fd, parts, n))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(int, ftruncate64, (int fd, off64_t size), (fd, size))
WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, link, (const char *from, const char *to), (from, to))
WRAP(int, unlink, (const char *path), (path))
WRAP(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
WRAP(int, rmdir, (const char *path), (path))
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(pid_t, fork, (void), ())
WRAP(int, posix_spawn,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
      char *const argv[], char *const env[]),
     (pid, path, actions, attributes, argv, env))
WRAP(int, bind, (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
WRAP_IF(is_due_accept(), int, accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags),
        (fd, address, size, flags))
WRAP(ssize_t, recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))
WRAP(ssize_t, send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags))
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
WRAP(int, zmq_send, (void *socket, const void *data, size_t size, int flags), (socket, data, size, flags))

/* Opening counts where it may make the file. */
#define WRAP_OPEN(name)                                                                                                \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        NEXT(name);                                                                                                    \
        mode_t mode = 0;                                                                                               \
        va_list ap;                                                                                                    \
                                                                                                                       \
        if (!(flags & O_CREAT))                                                                                        \
            return next(path, flags);                                                                                  \
        va_start(ap, flags);                                                                                           \
        mode = va_arg(ap, mode_t);                                                                                     \
        va_end(ap);                                                                                                    \
        bool due = is_due("open");                                                                                     \
        int fd = next(path, flags, mode), saved = errno;                                                               \
        after(due);                                                                                                    \
        errno = saved;                                                                                                 \
        return fd;                                                                                                     \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)
