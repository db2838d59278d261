#include "api/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 511

/* Splits "HOST:PORT" or "[V6]:PORT". */
static int split(const char *text, char *host, size_t size, const char **port)
{
    const char *colon = strrchr(text, ':'), *end;

    if (colon == NULL)
        return -1;
    *port = colon + 1;
    if (**port == '\0' || strlen(*port) > 5 || (*port)[strspn(*port, "0123456789")] != '\0' || atoi(*port) > 65535)
        return -1;
    end = colon;
    if (text[0] == '[') {
        if (end == text || end[-1] != ']')
            return -1;
        text++;
        end--;
    } else if (memchr(text, ':', (size_t)(end - text)) != NULL) {
        return -1;
    }
    if (end <= text || (size_t)(end - text) >= size)
        return -1;
    memcpy(host, text, (size_t)(end - text));
    host[end - text] = '\0';
    return 0;
}

static bool is_loopback_address(const struct sockaddr *addr)
{
    if (addr->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return addr->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

static int open_at(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1, why;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (at->ai_family == AF_INET6) /* "[::]" must not take all IPv4 addresses as well */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int name_it(struct listener *listener, struct error *err)
{
    struct sockaddr_storage addr;
    socklen_t size = sizeof addr;
    char host[128], port[8];

    if (getsockname(listener->fd, (struct sockaddr *)&addr, &size) < 0)
        return error_errno(err, "listen_failed", "cannot tell which address is listened on");
    if (getnameinfo((struct sockaddr *)&addr, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return error_set(err, "listen_failed", "cannot tell which address is listened on");
    snprintf(listener->name, sizeof listener->name, addr.ss_family == AF_INET6 ? "tcp:[%s]:%s" : "tcp:%s:%s", host,
             port);
    return 0;
}

int listener_open_tcp(struct listener *listener, const char *rest, bool tls, struct error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found, *at;
    const char *port;
    int rc;

    if (split(rest, listener->host, sizeof listener->host, &port) < 0)
        return error_set(err, "listen_unsupported",
                         "\"tcp:%.200s\" is not tcp:HOST:PORT, such as tcp:127.0.0.1:8080 or tcp:[::1]:0", rest);
    rc = getaddrinfo(listener->host, port, &hints, &found);
    if (rc != 0)
        return error_set(err, "listen_failed", "cannot listen on tcp:%.200s: %s", rest, gai_strerror(rc));
    for (at = found; at != NULL; at = at->ai_next) {
        if (!tls && !is_loopback_address(at->ai_addr)) {
            freeaddrinfo(found);
            return error_set(err, "listen_needs_tls",
                             "tcp:%.200s can be reached over the network, where tokens must not travel in the clear: "
                             "set tls_certificate and tls_key, or listen on 127.0.0.1",
                             rest);
        }
    }
    errno = EADDRNOTAVAIL;
    for (int tries = 0; tries <= LISTENER_TRIES && listener->fd < 0; tries++) {
        if (tries > 0)
            usleep(LISTENER_PAUSE_MS * 1000);
        for (at = found; at != NULL && listener->fd < 0; at = at->ai_next)
            listener->fd = open_at(at);
        if (errno != EADDRINUSE)
            break;
    }
    freeaddrinfo(found);
    if (listener->fd < 0)
        return error_errno(err, errno == EADDRINUSE ? "listen_in_use" : "listen_failed", "cannot listen on tcp:%.200s",
                           rest);
    listener->tcp = true;
    if (name_it(listener, err) == 0)
        return 0;
    close(listener->fd);
    return -1;
}
