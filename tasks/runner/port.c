#include "tasks/runner/port.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST 10240
#define LAST 65535
#define ENOUGH 1000

/* Finds the ports that the kernel does not give to connections: FIRST up to the first one that it gives. */
static void find_range(uint32_t *first, uint32_t *n)
{
    FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    unsigned low = 0;

    if (f == NULL || fscanf(f, "%u", &low) != 1 || low < FIRST + ENOUGH || low > LAST)
        low = LAST + 1; /* then it is a port that is free now */
    if (f != NULL)
        fclose(f);
    *first = FIRST;
    *n = low - FIRST;
}

/* Holds the port among the runners of this network, by a name in the abstract namespace of Unix sockets. That namespace
 * is as wide as that of the ports. A name belongs to one socket, and is free when that is closed, whatever ends its
 * process. The port itself is left to the task. */
static int port_hold(uint32_t port)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "stretto-port-%u", (unsigned)port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 &&
        bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool can_bind(int family, const struct sockaddr *address, socklen_t size)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool can = fd >= 0 && bind(fd, address, size) == 0;

    if (fd >= 0)
        close(fd);
    return can;
}

static bool port_is_free(uint32_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has_v6 = fd >= 0 && access("/proc/net/if_inet6", R_OK) == 0;

    if (fd >= 0)
        close(fd);
    return can_bind(AF_INET, (struct sockaddr *)&v4, sizeof v4) &&
           (!has_v6 || can_bind(AF_INET6, (struct sockaddr *)&v6, sizeof v6));
}

int port_take(uint32_t seed, int *lock)
{
    uint32_t first, n;

    *lock = -1;
    find_range(&first, &n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t port = first + (seed % n + i) % n;

        *lock = port_hold(port);
        if (*lock < 0)
            continue;
        if (port_is_free(port))
            return (int)port;
        close(*lock);
        *lock = -1;
    }
    return 0;
}
