/* Reads many event streams at once, as cheaply as it can: what it costs is not the daemon's, yet it shares the machine.
 *
 *   stream-reader SOCKET N: opens N streams of SOCKET and says "open" when they are. At the end of its standard input
 *   it prints a JSON object: how many streams there were and had ended, the last event that any of them has got, by how
 *   many the slowest is behind it, and the bytes of all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define READ_MAX (256u << 10)
#define TRIES 1200

static const char request[] = "GET /v1/events HTTP/1.1\r\nHost: stretto\r\nAccept: text/event-stream\r\n\r\n";

struct reader {
    int fd;
    long last; /* id: they follow each other without a gap, which tests hold (tests/t/0590-events.t) */
};

static int fail(const char *what)
{
    perror(what);
    return -1;
}

/* -1: it failed; else the socket, or 0 if the daemon has too many streams still. */
static int try_open(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char head[4096];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ssize_t n;

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        send(fd, request, sizeof request - 1, 0) < 0)
        return fail(path);
    n = recv(fd, head, sizeof head - 1, 0);
    if (n <= 0)
        return fail(path);
    head[n] = '\0';
    if (strstr(head, " 200 ") != NULL)
        return fd;
    close(fd);
    return 0;
}

static int open_stream(const char *path)
{
    for (int i = 0; i < TRIES; i++) { /* former ones are there until a heartbeat notices that they have gone */
        int fd = try_open(path);

        if (fd != 0)
            return fd;
        usleep(50000);
    }
    fprintf(stderr, "%s has too many event streams\n", path);
    return -1;
}

/* The last id that is whole, looked for from the end: nothing else of the text is touched. */
static void note(struct reader *reader, const char *data, size_t size)
{
    const char *line;

    while (size > 0 && (line = memrchr(data, '\n', size)) != NULL) {
        char *end;
        long id;

        size = (size_t)(line - data);
        if (strncmp(line, "\nid: ", 5) != 0)
            continue;
        id = strtol(line + 5, &end, 10);
        if (*end != '\n')
            continue;
        reader->last = id;
        return;
    }
}

static int read_all(int epoll, long *ended, long long *bytes)
{
    static char data[READ_MAX + 1];
    struct epoll_event events[64];

    for (;;) {
        int ready = epoll_wait(epoll, events, 64, -1);

        for (int i = 0; i < ready; i++) {
            struct reader *reader = events[i].data.ptr;
            ssize_t got;

            if (reader == NULL)
                return 0;
            got = recv(reader->fd, data, READ_MAX, MSG_DONTWAIT);
            if (got > 0) {
                *bytes += got;
                data[got] = '\0';
                note(reader, data, (size_t)got);
            } else if (got == 0) {
                ++*ended;
                epoll_ctl(epoll, EPOLL_CTL_DEL, reader->fd, NULL);
            }
        }
    }
}

int main(int argc, char **argv)
{
    int n = argc == 3 ? atoi(argv[2]) : 0, epoll = epoll_create1(EPOLL_CLOEXEC);
    struct reader *readers = calloc((size_t)n + 1, sizeof *readers);
    long ended = 0, least = 0, most = 0;
    long long bytes = 0;

    if (n <= 0 || readers == NULL || epoll < 0)
        return 2;
    for (int i = 0; i < n; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &readers[i]};

        readers[i].fd = open_stream(argv[1]);
        if (readers[i].fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, readers[i].fd, &event) < 0)
            return 1;
    }
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &(struct epoll_event){.events = EPOLLIN}) < 0) {
        fail("standard input");
        return 1;
    }
    puts("open");
    fflush(stdout);
    read_all(epoll, &ended, &bytes);
    for (int i = 0; i < n; i++) {
        least = i == 0 || readers[i].last < least ? readers[i].last : least;
        most = readers[i].last > most ? readers[i].last : most;
    }
    printf("{\"streams\": %d, \"ended\": %ld, \"last\": %ld, \"behind\": %ld, \"bytes\": %lld}\n", n, ended, most,
           most - least, bytes);
    return 0;
}
