#include "tasks/train/network.h"

#include "common/xalloc.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

/* What interfaces are called where nodes have several: the fast ones, and those that lead nowhere beyond the host. */
static const char *const fast[] = {"hsn", "ib", NULL};
static const char *const inner[] = {"docker", "virbr", "br-", "veth", "cni", NULL};

enum rank { RANK_FAST, RANK_PLAIN, RANK_INNER, RANKS };

static bool has_prefix(const char *const *prefixes, const char *name)
{
    for (; *prefixes != NULL; prefixes++)
        if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

static enum rank rank_of(const char *interface)
{
    return has_prefix(fast, interface) ? RANK_FAST : has_prefix(inner, interface) ? RANK_INNER : RANK_PLAIN;
}

/* One that other hosts can make use of: link-local addresses mean something else there. */
static void add_address(json_t *endpoints, const struct sockaddr *address, unsigned port)
{
    const struct in6_addr *ipv6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    char text[INET6_ADDRSTRLEN];

    if (address->sa_family == AF_INET) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text, sizeof text);
        json_array_append_new(endpoints, json_sprintf("tcp://%s:%u", text, port));
    } else if (!IN6_IS_ADDR_LINKLOCAL(ipv6)) {
        inet_ntop(AF_INET6, ipv6, text, sizeof text);
        json_array_append_new(endpoints, json_sprintf("tcp://[%s]:%u", text, port));
    }
}

/* Those that are up, of one rank and family; only the named one, whatever it is, where one is named. */
static void add_interfaces(json_t *endpoints, const struct ifaddrs *all, const char *named, enum rank rank, int family,
                           unsigned port)
{
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (i->ifa_addr == NULL || i->ifa_addr->sa_family != family || !(i->ifa_flags & IFF_UP))
            continue;
        if (named != NULL ? strcmp(i->ifa_name, named) == 0
                          : !(i->ifa_flags & IFF_LOOPBACK) && rank_of(i->ifa_name) == rank)
            add_address(endpoints, i->ifa_addr, port);
    }
}

static int add_endpoints(json_t *endpoints, const char *named, bool ipv6, unsigned port, struct error *err)
{
    size_t before = json_array_size(endpoints);
    char host[HOST_NAME_MAX + 1] = "";
    struct ifaddrs *all;

    if (getifaddrs(&all) != 0)
        return error_errno(err, "train_endpoint", "cannot list the network interfaces");
    for (enum rank rank = RANK_FAST; rank < (named != NULL ? RANK_PLAIN : RANKS); rank++) {
        add_interfaces(endpoints, all, named, rank, AF_INET, port);
        if (ipv6)
            add_interfaces(endpoints, all, named, rank, AF_INET6, port);
    }
    freeifaddrs(all);
    if (named != NULL)
        return json_array_size(endpoints) > before
                   ? 0
                   : error_set(err, "train_endpoint", "the interface that is to be streamed to, \"%s\", has no address on this host that others could use", named);
    if (gethostname(host, sizeof host - 1) == 0 && *host != '\0')
        json_array_append_new(endpoints, json_sprintf("tcp://%s:%u", host, port));
    return 0;
}

static int encrypt(void *socket, char public_key[NETWORK_KEY_SIZE], struct error *err)
{
    char secret[NETWORK_KEY_SIZE];
    int server = 1, rc = 0;

    if (zmq_curve_keypair(public_key, secret) != 0)
        return error_set(err, "train_endpoint", "no key for the network: %s (is libzmq built with CURVE?)",
                         zmq_strerror(zmq_errno()));
    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &server, sizeof server) != 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, sizeof secret) != 0)
        rc = error_set(err, "train_endpoint", "the network cannot be encrypted: %s", zmq_strerror(zmq_errno()));
    explicit_bzero(secret, sizeof secret);
    return rc;
}

/* Every address of this host, or its IPv4 ones, where it has no others. */
static int bind_all(void *socket, bool *ipv6)
{
    int on = 1, off = 0;

    *ipv6 = zmq_setsockopt(socket, ZMQ_IPV6, &on, sizeof on) == 0 && zmq_bind(socket, "tcp://[::]:*") == 0;
    if (*ipv6)
        return 0;
    zmq_setsockopt(socket, ZMQ_IPV6, &off, sizeof off);
    return zmq_bind(socket, "tcp://0.0.0.0:*");
}

int network_bind(void *socket, const char *interface, json_t *endpoints, char public_key[NETWORK_KEY_SIZE],
                 struct error *err)
{
    char bound[128];
    size_t size = sizeof bound;
    const char *port;
    bool ipv6;

    if (encrypt(socket, public_key, err) < 0)
        return -1;
    if (bind_all(socket, &ipv6) != 0 || zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &size) != 0)
        return error_set(err, "train_endpoint", "cannot bind a port on the network: %s", zmq_strerror(zmq_errno()));
    port = strrchr(bound, ':');
    return add_endpoints(endpoints, interface, ipv6, (unsigned)strtoul(port + 1, NULL, 10), err);
}
