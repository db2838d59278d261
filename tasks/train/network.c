#include "tasks/train/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

/* Usual names of interfaces on nodes that have several: fast ones, and those that do not lead out of the host. */
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

/* Returns the address in ZeroMQ's form, without a port; NULL for an address that other hosts cannot use, such as a
 * link-local one, which means something else there. */
static const char *host_of(const struct sockaddr *address, char *text, size_t size)
{
    const struct in6_addr *ipv6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    char plain[INET6_ADDRSTRLEN];

    if (address->sa_family == AF_INET)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text,
                         (socklen_t)size);
    if (IN6_IS_ADDR_LINKLOCAL(ipv6) || inet_ntop(AF_INET6, ipv6, plain, sizeof plain) == NULL)
        return NULL;
    snprintf(text, size, "[%s]", plain);
    return text;
}

static bool is_interface_up(const struct ifaddrs *interface, int family)
{
    return interface->ifa_addr != NULL && interface->ifa_addr->sa_family == family && (interface->ifa_flags & IFF_UP);
}

/* Adds the addresses of all interfaces that are up, of one rank and family. */
static int add_interfaces(json_t *endpoints, const struct ifaddrs *all, enum rank rank, int family, unsigned port)
{
    char text[INET6_ADDRSTRLEN + 2];

    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next)
        if (is_interface_up(i, family) && !(i->ifa_flags & IFF_LOOPBACK) && rank_of(i->ifa_name) == rank &&
            host_of(i->ifa_addr, text, sizeof text) != NULL &&
            json_array_append_new(endpoints, json_sprintf("tcp://%s:%u", text, port)) < 0)
            return -1;
    return 0;
}

static int no_memory_for_network(struct error *err)
{
    return error_set(err, "train_memory", "no memory for the rank's endpoints");
}

static int encrypt_endpoint(void *socket, struct network_place *place, struct error *err)
{
    int server = 1;

    if (!place->again && zmq_curve_keypair(place->public_key, place->secret_key) != 0)
        return error_set(err, "train_endpoint", "no key for the network: %s (is libzmq built with CURVE?)",
                         zmq_strerror(zmq_errno()));
    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &server, sizeof server) != 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, place->secret_key, sizeof place->secret_key) != 0)
        return error_set(err, "train_endpoint", "the network cannot be encrypted: %s", zmq_strerror(zmq_errno()));
    return 0;
}

static unsigned port_of(const char *bound)
{
    return (unsigned)strtoul(strrchr(bound, ':') + 1, NULL, 10);
}

int network_bind_host(void *socket, const char *host, struct network_place *place, char *bound, size_t size)
{
    char name[INET6_ADDRSTRLEN + 16];

    if (place->again && place->bound < place->ports)
        snprintf(name, sizeof name, "tcp://%s:%u", host, place->port[place->bound]);
    else
        snprintf(name, sizeof name, "tcp://%s:*", host);
    if (zmq_bind(socket, name) != 0 || zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &size) != 0)
        return -1;
    if (!place->again && place->ports < KEPT_PORTS_MAX)
        place->port[place->ports++] = (uint16_t)port_of(bound);
    place->bound++;
    return 0;
}

static int bind_to(void *socket, const char *host, int ipv6, struct network_place *place, char *bound, size_t size)
{
    return zmq_setsockopt(socket, ZMQ_IPV6, &ipv6, sizeof ipv6) == 0
               ? network_bind_host(socket, host, place, bound, size)
               : -1;
}

/* Binds the addresses of one interface, each with a port of its own. */
static int bind_interface(void *socket, const struct ifaddrs *all, const char *named, struct network_place *place,
                          json_t *endpoints, struct error *err)
{
    static const int families[] = {AF_INET, AF_INET6};
    size_t before = json_array_size(endpoints);
    char host[INET6_ADDRSTRLEN + 2], bound[128];

    for (size_t family = 0; family < 2; family++)
        for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
            if (!is_interface_up(i, families[family]) || strcmp(i->ifa_name, named) != 0 ||
                host_of(i->ifa_addr, host, sizeof host) == NULL)
                continue;
            if (bind_to(socket, host, families[family] == AF_INET6, place, bound, sizeof bound) < 0)
                return error_set(err, "train_endpoint",
                                 "cannot bind a port of %s, an address of the interface \"%s\": %s", host, named,
                                 zmq_strerror(zmq_errno()));
            if (json_array_append_new(endpoints, json_string(bound)) < 0)
                return no_memory_for_network(err);
        }
    return json_array_size(endpoints) > before
               ? 0
               : error_set(err, "train_endpoint",
                           "the interface that is to be streamed to, \"%s\", has no address on this host that others "
                           "could use",
                           named);
}

/* Binds every address of this host, or its IPv4 ones if it has no others, with one port. */
static int bind_all(void *socket, const struct ifaddrs *all, struct network_place *place, json_t *endpoints,
                    struct error *err)
{
    char bound[128], host[HOST_NAME_MAX + 1] = "";
    bool ipv6 = bind_to(socket, "[::]", 1, place, bound, sizeof bound) == 0;
    unsigned port;

    if (!ipv6 && bind_to(socket, "0.0.0.0", 0, place, bound, sizeof bound) < 0)
        return error_set(err, "train_endpoint", "cannot bind a port on the network: %s", zmq_strerror(zmq_errno()));
    port = port_of(bound);
    for (enum rank rank = RANK_FAST; rank < RANKS; rank++) {
        if (add_interfaces(endpoints, all, rank, AF_INET, port) < 0 ||
            (ipv6 && add_interfaces(endpoints, all, rank, AF_INET6, port) < 0))
            return no_memory_for_network(err);
    }
    if (gethostname(host, sizeof host - 1) == 0 && *host != '\0' &&
        json_array_append_new(endpoints, json_sprintf("tcp://%s:%u", host, port)) < 0)
        return no_memory_for_network(err);
    return 0;
}

int network_bind(void *socket, const char *interface, struct network_place *place, json_t *endpoints, struct error *err)
{
    struct ifaddrs *all;
    int rc;

    if (encrypt_endpoint(socket, place, err) < 0)
        return -1;
    if (getifaddrs(&all) != 0)
        return error_errno(err, "train_endpoint", "cannot list the network interfaces");
    rc = interface != NULL ? bind_interface(socket, all, interface, place, endpoints, err)
                           : bind_all(socket, all, place, endpoints, err);
    freeifaddrs(all);
    return rc;
}
