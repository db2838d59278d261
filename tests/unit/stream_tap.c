#include "tests/unit/stream_tap.h"

#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEEDLE_MAX 16

struct tap {
    int listener, client, back, stop[2];
    unsigned to;
    char needle[NEEDLE_MAX], seen[65536 + NEEDLE_MAX]; /* the end of what came before, and what has come */
    size_t size, kept;
    atomic_size_t bytes, hits;
    pthread_t thread;
};

static struct sockaddr_in local(unsigned port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void look_at(struct tap *tap, const char *data, size_t size)
{
    memcpy(tap->seen + tap->kept, data, size);
    tap->kept += size;
    tap->bytes += size;
    for (size_t i = 0; tap->size > 0 && i + tap->size <= tap->kept; i++)
        tap->hits += memcmp(tap->seen + i, tap->needle, tap->size) == 0;
    size = tap->size > 0 && tap->kept >= tap->size ? tap->size - 1 : tap->size > 0 ? tap->kept : 0;
    memmove(tap->seen, tap->seen + tap->kept - size, size);
    tap->kept = size;
}

static void write_all(int fd, const char *data, size_t size)
{
    for (ssize_t n; size > 0 && (n = write(fd, data, size)) > 0; data += n, size -= (size_t)n)
        ;
}

static void hang_up(struct tap *tap)
{
    if (tap->client >= 0)
        close(tap->client);
    if (tap->back >= 0)
        close(tap->back);
    tap->client = tap->back = -1;
    tap->kept = 0;
}

static void answer(struct tap *tap)
{
    struct sockaddr_in to = local(tap->to);
    int fd = accept(tap->listener, NULL, NULL);

    hang_up(tap);
    tap->client = fd;
    if (tap->to == 0)
        return;
    tap->back = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(tap->back, (struct sockaddr *)&to, sizeof to) != 0)
        hang_up(tap);
}

static void pass(struct tap *tap, int from, int to)
{
    char data[65536];
    ssize_t n = read(from, data, sizeof data);

    if (n <= 0) {
        hang_up(tap);
        return;
    }
    if (from == tap->client)
        look_at(tap, data, (size_t)n);
    if (to >= 0)
        write_all(to, data, (size_t)n);
}

static void *run(void *arg)
{
    struct tap *tap = arg;

    for (;;) {
        struct pollfd fds[] = {{.fd = tap->stop[0], .events = POLLIN}, {.fd = tap->listener, .events = POLLIN},
                               {.fd = tap->client, .events = POLLIN}, {.fd = tap->back, .events = POLLIN}};

        poll(fds, 4, -1);
        if (fds[0].revents)
            return NULL;
        if (fds[2].revents)
            pass(tap, tap->client, tap->back);
        else if (fds[3].revents)
            pass(tap, tap->back, tap->client);
        if (fds[1].revents)
            answer(tap);
    }
}

struct tap *tap_start(unsigned to, const void *needle, size_t size, unsigned *port)
{
    struct tap *tap = calloc(1, sizeof *tap);
    struct sockaddr_in address = local(0);
    socklen_t length = sizeof address;

    tap->to = to;
    tap->client = tap->back = -1;
    tap->size = size;
    memcpy(tap->needle, needle, size);
    tap->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(tap->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(tap->listener, 8), 0);
    assert_int_equal(getsockname(tap->listener, (struct sockaddr *)&address, &length), 0);
    *port = ntohs(address.sin_port);
    assert_int_equal(pipe(tap->stop), 0);
    assert_int_equal(pthread_create(&tap->thread, NULL, run, tap), 0);
    return tap;
}

size_t tap_bytes(struct tap *tap)
{
    return tap->bytes;
}

size_t tap_hits(struct tap *tap)
{
    return tap->hits;
}

void tap_stop(struct tap *tap)
{
    close(tap->stop[1]);
    pthread_join(tap->thread, NULL);
    hang_up(tap);
    close(tap->stop[0]);
    close(tap->listener);
    free(tap);
}
