#include "api/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* Copies the header without port and brackets. */
static bool strip(const char *header, char *host, size_t size)
{
    const char *end, *port;

    if (header[0] == '[') {
        header++;
        end = strchr(header, ']');
        if (end == NULL)
            return false;
        port = end + 1;
    } else {
        port = end = header + strcspn(header, ":");
    }
    if (*port != '\0' && (*port != ':' || port[1 + strspn(port + 1, "0123456789")] != '\0'))
        return false;
    if (end == header || (size_t)(end - header) >= size)
        return false;
    memcpy(host, header, (size_t)(end - header));
    host[end - header] = '\0';
    return true;
}

static bool is_own_address(const char *host, int fd)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, host, &v4) == 1) {
        if (ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET)
            return true;
        return getsockname(fd, (struct sockaddr *)&own, &size) == 0 && own.ss_family == AF_INET &&
               ((struct sockaddr_in *)&own)->sin_addr.s_addr == v4.s_addr;
    }
    if (inet_pton(AF_INET6, host, &v6) != 1)
        return false;
    if (IN6_IS_ADDR_LOOPBACK(&v6))
        return true;
    return getsockname(fd, (struct sockaddr *)&own, &size) == 0 && own.ss_family == AF_INET6 &&
           IN6_ARE_ADDR_EQUAL(&((struct sockaddr_in6 *)&own)->sin6_addr, &v6);
}

bool host_allowed(const char *header, const char *listening, int fd, const char *const *names)
{
    char host[256];

    if (header == NULL || !strip(header, host, sizeof host))
        return false;
    if (strcasecmp(host, "localhost") == 0 || strcasecmp(host, listening) == 0 || is_own_address(host, fd))
        return true;
    for (; names != NULL && *names != NULL; names++) {
        if (strcasecmp(host, *names) == 0)
            return true;
    }
    return false;
}
