/* The addresses of this host that members get, in their order: over a list of interfaces that no real host has. */
#include "tasks/train/network.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

static const struct {
    const char *name, *address;
    unsigned flags;
} interfaces[] = {
    {"lo", "127.0.0.1", IFF_UP | IFF_LOOPBACK}, {"docker0", "172.17.0.1", IFF_UP}, {"eth0", "10.0.0.5", IFF_UP}, {"eth1", "10.0.0.6", 0},
    {"nothing", NULL, IFF_UP}, {"ib0", "10.1.0.5", IFF_UP}, {"eth0", "fe80::1", IFF_UP}, {"eth0", "2001:db8::5", IFF_UP},
    {"ib0", "2001:db8:1::5", IFF_UP}, {"lo", "::1", IFF_UP | IFF_LOOPBACK}, {"hsn3", "10.2.0.5", IFF_UP}, {"self", "127.0.0.1", IFF_UP},
};

int getifaddrs(struct ifaddrs **list)
{
    *list = NULL;
    for (size_t i = sizeof interfaces / sizeof *interfaces; i-- > 0;) {
        struct ifaddrs *one = calloc(1, sizeof *one);
        struct sockaddr_in6 *address = calloc(1, sizeof *address);
        const char *text = interfaces[i].address;

        one->ifa_name = (char *)interfaces[i].name;
        one->ifa_flags = interfaces[i].flags;
        if (text != NULL && strchr(text, ':') != NULL) {
            address->sin6_family = AF_INET6;
            assert_int_equal(inet_pton(AF_INET6, text, &address->sin6_addr), 1);
        } else if (text != NULL) {
            ((struct sockaddr_in *)(void *)address)->sin_family = AF_INET;
            assert_int_equal(inet_pton(AF_INET, text, &((struct sockaddr_in *)(void *)address)->sin_addr), 1);
        }
        if (text != NULL)
            one->ifa_addr = (struct sockaddr *)(void *)address;
        else
            free(address);
        one->ifa_next = *list;
        *list = one;
    }
    return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
    for (struct ifaddrs *next; list != NULL; list = next) {
        next = list->ifa_next;
        free(list->ifa_addr);
        free(list);
    }
}

static struct error err;

static json_t *bind_all(const char *interface, struct network_place *place)
{
    json_t *endpoints = json_array();
    void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, ZMQ_ROUTER);

    if (network_bind(socket, interface, place, endpoints, &err) < 0) {
        json_decref(endpoints);
        endpoints = NULL;
    }
    zmq_close(socket);
    zmq_ctx_term(zmq);
    return endpoints;
}

static void fast_ones_come_first_and_inner_ones_last(void **state)
{
    static const char *const wanted[] = {"tcp://10.1.0.5:", "tcp://10.2.0.5:", "tcp://[2001:db8:1::5]:", "tcp://10.0.0.5:",
                                         "tcp://127.0.0.1:", "tcp://[2001:db8::5]:", "tcp://172.17.0.1:"};
    struct network_place place = {.again = false};
    json_t *endpoints = bind_all(NULL, &place);
    size_t at = 0;
    bool ipv6 = false;
    char port[16];

    assert_non_null(endpoints);
    for (size_t i = 0; i < json_array_size(endpoints); i++)
        ipv6 = ipv6 || strncmp(json_string_value(json_array_get(endpoints, i)), "tcp://[", 7) == 0;
    snprintf(port, sizeof port, "%u", place.port[0]);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const char *found = json_string_value(json_array_get(endpoints, at));

        if (wanted[i][6] == '[' && !ipv6) /* this host has no such addresses */
            continue;
        if (found == NULL || strncmp(found, wanted[i], strlen(wanted[i])) != 0 ||
            strcmp(found + strlen(wanted[i]), port) != 0)
            fail_msg("%s is at the place of %s%s", found != NULL ? found : "nothing", wanted[i], port);
        at++;
    }
    assert_in_range(json_array_size(endpoints), at, at + 1); /* and the name of this host */
    assert_int_equal(strlen(place.public_key), 40);
    json_decref(endpoints);
}

/* So that members find the next process of a rank where the one before was. */
static void the_next_process_has_the_same_place(void **state)
{
    struct network_place place, again;
    json_t *first = NULL, *second = NULL;

    for (int tries = 0; second == NULL && tries < 20; tries++) { /* somebody else may take the port in between */
        json_decref(first);
        place = (struct network_place){.again = false};
        first = bind_all("self", &place);
        assert_int_equal(json_array_size(first), 1);
        assert_int_equal(place.ports, 1);
        again = place;
        again.again = true;
        again.bound = 0;
        second = bind_all("self", &again);
    }
    assert_true(json_equal(first, second));
    assert_string_equal(again.public_key, place.public_key);
    json_decref(first);
    json_decref(second);
}

static void an_interface_without_an_address_is_refused(void **state)
{
    static const char *const none[] = {"eth1", "nothing", "eth", "eth00", ""};

    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct network_place place = {.again = false};

        assert_null(bind_all(none[i], &place));
        assert_string_equal(err.code, "train_endpoint");
        assert_non_null(strstr(err.text, "no address on this host"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_ones_come_first_and_inner_ones_last),
        cmocka_unit_test(the_next_process_has_the_same_place),
        cmocka_unit_test(an_interface_without_an_address_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
