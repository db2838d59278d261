/* Members and a rank on different hosts, as far as they can tell: over the network's addresses, encrypted. */
#include "common/files.h"
#include "tasks/proto/frame.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/stream_proxy.h"
#include "tests/unit/stream_tap.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define BUFFER "{\"policy\": \"fifo\", \"capacity\": 200, \"batch\": 10}"
#define STEPS 100

/* training.json says that members may be elsewhere. */
static void on_a_network(const struct fixture *fx, const char *interface)
{
    struct error err;
    json_t *training = file_read_json(fixture_path(fx, "training.json"), &err);

    json_object_set_new(training, "network", json_true());
    if (interface != NULL)
        json_object_set_new(training, "interface", json_string(interface));
    assert_int_equal(file_write_json(fixture_path(fx, "training.json"), training, 0600, &err), 0);
    json_decref(training);
}

static json_t *rank_file(const struct fixture *fx)
{
    struct error err;
    json_t *rank = file_read_json(fixture_path(fx, "g1-rank0.json"), &err);

    assert_non_null(rank);
    return rank;
}

/* The rank is on another host, and these are its endpoints (NULL: those it has). Takes over `endpoints`. */
static void elsewhere(const struct fixture *fx, json_t *endpoints)
{
    struct error err;
    json_t *rank = rank_file(fx);

    json_object_set_new(rank, "host", json_string("elsewhere"));
    if (endpoints != NULL)
        json_object_set_new(rank, "endpoints", endpoints);
    assert_int_equal(file_write_json(fixture_path(fx, "g1-rank0.json"), rank, 0600, &err), 0);
    json_decref(rank);
}

static unsigned port_at(const struct fixture *fx, const char *prefix)
{
    json_t *rank = rank_file(fx);
    unsigned port = 0;

    for (size_t i = 0; i < json_array_size(json_object_get(rank, "endpoints")); i++) {
        const char *endpoint = json_string_value(json_array_get(json_object_get(rank, "endpoints"), i));

        if (strncmp(endpoint, prefix, strlen(prefix)) == 0)
            port = (unsigned)strtoul(strrchr(endpoint, ':') + 1, NULL, 10);
    }
    json_decref(rank);
    assert_true(port > 0);
    return port;
}

static unsigned port_of(const struct fixture *fx)
{
    return port_at(fx, "tcp://127.0.0.1:");
}

/* One member sends all its steps, and every one is drawn. */
static void stream(const struct fixture *fx, struct stretto_train *t)
{
    struct stretto *s = fixture_member(0, 1);
    int times[STEPS] = {0};

    for (int step = 0; step < STEPS; step++)
        assert_int_equal(fixture_send(fx, s, 0, step), 0);
    assert_int_equal(stretto_close(s), 0);
    fixture_over(fx);
    fixture_draw_all(fx, t, STEPS, times);
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(times[step], 1);
    assert_int_equal(fixture_stats(t).rejected, 0);
}

/* The endpoints of a rank that are IPv6 addresses; NULL if it has none. */
static json_t *ipv6_of(const struct fixture *fx)
{
    json_t *rank = rank_file(fx), *some = json_array(), *endpoint;
    size_t i;

    json_array_foreach (json_object_get(rank, "endpoints"), i, endpoint)
        if (strncmp(json_string_value(endpoint), "tcp://[", 7) == 0)
            json_array_append(some, endpoint);
    json_decref(rank);
    if (json_array_size(some) > 0)
        return some;
    json_decref(some);
    return NULL;
}

static bool has_ipv6(void)
{
    struct in6_addr loopback;
    struct ifaddrs *all;
    bool has = false;

    inet_pton(AF_INET6, "::1", &loopback);
    assert_int_equal(getifaddrs(&all), 0);
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next)
        has = has || (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET6 &&
                      memcmp(&((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr, &loopback, 16) == 0);
    freeifaddrs(all);
    return has;
}

/* On a machine without IPv6 none are told, and all else is as it is. */
static void ipv6_addresses_lead_to_a_rank(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    json_t *some;

    fixture_init(&fx, 1000, 1, 1, BUFFER);
    on_a_network(&fx, "lo");
    t = fixture_rank(0);
    some = ipv6_of(&fx);
    assert_int_equal(some != NULL, has_ipv6());
    if (some != NULL)
        assert_int_equal(strncmp(json_string_value(json_array_get(some, 0)), "tcp://[::1]:", 12), 0);
    elsewhere(&fx, some);
    stream(&fx, t);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void a_rank_here_is_reached_by_its_unix_socket(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    json_t *rank;
    struct error err;

    fixture_init(&fx, 10, 1, 1, BUFFER);
    on_a_network(&fx, "lo");
    t = fixture_rank(0);
    rank = rank_file(&fx); /* the network leads nowhere */
    json_array_set_new(json_object_get(rank, "endpoints"), 1, json_string("tcp://127.0.0.1:9"));
    assert_int_equal(file_write_json(fixture_path(&fx, "g1-rank0.json"), rank, 0600, &err), 0);
    json_decref(rank);
    stream(&fx, t);
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* Two hosts may have one name, as containers do: the rank's Unix socket is not here, and the network leads to it. */
static void a_rank_on_a_host_of_the_same_name_is_reached_over_the_network(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct error err;
    json_t *rank;
    char host[200];

    fixture_init(&fx, 10, 1, 1, BUFFER);
    on_a_network(&fx, "lo");
    t = fixture_rank(0);
    rank = rank_file(&fx);
    assert_int_equal(gethostname(host, sizeof host), 0);
    assert_string_equal(json_string_value(json_object_get(rank, "host")), host);
    json_array_set_new(json_object_get(rank, "endpoints"), 0, json_string("ipc:///tmp/stretto-of-another-host/rank0"));
    assert_int_equal(file_write_json(fixture_path(&fx, "g1-rank0.json"), rank, 0600, &err), 0);
    json_decref(rank);
    fixture_member_limit();
    stream(&fx, t);
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* The path of another host's socket may be taken here, by a rank of somebody else, as below /tmp. */
static void a_socket_here_is_not_that_of_another_host(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    char taken[200];

    fixture_init(&fx, 10, 1, 1, BUFFER);
    on_a_network(&fx, "lo");
    t = fixture_rank(0);
    snprintf(taken, sizeof taken, "ipc://%s", fixture_path(&fx, "training.json"));
    elsewhere(&fx, json_pack("[s, o]", taken, json_sprintf("tcp://127.0.0.1:%u", port_of(&fx))));
    fixture_member_limit();
    stream(&fx, t);
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* What passes is the 128-byte header with its magic and key, and the doubles of the field: neither may be seen. */
static void nobody_on_the_way_can_read_it(void **state)
{
    for (int plain = 0; plain <= 1; plain++) { /* encrypted; not, to see that the tap sees */
        struct fixture fx;
        struct stretto_train *t;
        struct tap *tap;
        unsigned port;

        fixture_init(&fx, 1000, 1, 1, BUFFER);
        if (plain)
            setenv("STRETTO_STREAM_TCP", "127.0.0.1", 1);
        else
            on_a_network(&fx, "lo");
        t = fixture_rank(0);
        unsetenv("STRETTO_STREAM_TCP");
        tap = tap_start(port_of(&fx), "STRT", 4, &port);
        elsewhere(&fx, json_pack("[o]", json_sprintf("tcp://127.0.0.1:%u", port)));
        stream(&fx, t);
        stretto_train_close(t);
        assert_true(tap_bytes(tap) > STEPS * 1000 * sizeof(float));
        if (plain)
            assert_true(tap_hits(tap) >= STEPS);
        else
            assert_int_equal(tap_hits(tap), 0);
        tap_stop(tap);
        fixture_fini(&fx);
    }
}

static void addresses_that_lead_nowhere_are_passed_over(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct tap *deaf; /* accepts, and never says a word */
    unsigned nobody;

    fixture_init(&fx, 10, 1, 1, BUFFER);
    on_a_network(&fx, "lo");
    setenv("STRETTO_STREAM_SILENCE_MS", "50", 1);
    t = fixture_rank(0);
    deaf = tap_start(0, "", 0, &nobody);
    elsewhere(&fx, json_pack("[s, o, s, o]", "tcp://127.0.0.1:9", json_sprintf("tcp://127.0.0.1:%u", nobody),
                             "tcp://no.such.host.invalid:4", json_sprintf("tcp://127.0.0.1:%u", port_of(&fx))));
    stream(&fx, t);
    tap_stop(deaf);
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* A port at which nobody listens, and that nobody else gets, for as long as the descriptor is open. */
static int reserve_port(unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

/* The only address that leads to the rank does so once the member has gone on to the next one. */
static void an_address_may_begin_to_lead_somewhere(void **state)
{
    unsigned first, deaf;
    int times[STEPS] = {0}, reserved = reserve_port(&first), rc;
    struct tap *tap = tap_start(0, "", 0, &deaf);
    struct stretto *s = NULL;
    struct proxy *proxy;
    struct fixture fx;
    struct stretto_train *t;
    char front[64], back[200];

    fixture_init(&fx, 10, 1, 1, BUFFER);
    setenv("STRETTO_STREAM_SILENCE_MS", "50", 1);
    t = fixture_rank(0);
    snprintf(front, sizeof front, "tcp://127.0.0.1:%u", first);
    snprintf(back, sizeof back, "%s", fixture_endpoint(&fx));
    elsewhere(&fx, json_pack("[s, o]", front, json_sprintf("tcp://127.0.0.1:%u", deaf)));
    fixture_member_limit();
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{\"a\": 0, \"b\": 0.5}", 1);
    assert_int_equal(stretto_open_patiently(&s, 10), 0);
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    while ((rc = stretto_finish(s)) == STRETTO_AGAIN && tap_bytes(tap) == 0)
        ;
    assert_int_equal(rc, STRETTO_AGAIN);
    proxy = proxy_start(front, back, &(struct proxy_losses){.percent = 0});
    while ((rc = stretto_finish(s)) == STRETTO_AGAIN)
        ;
    if (rc < 0)
        fail_msg("%s", stretto_error(s));
    stretto_abort(s);
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, times);
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(times[step], 1);
    proxy_stop(proxy);
    tap_stop(tap);
    close(reserved);
    stretto_train_close(t);
    fixture_fini(&fx);
}

struct hello {
    void *socket;
    struct stretto_train *t;
};

static int answered(void *arg)
{
    struct hello *hello = arg;
    char buffer[256];

    return zmq_recv(hello->socket, buffer, sizeof buffer, ZMQ_DONTWAIT) >= 0 || fixture_stats(hello->t).rejected > 0;
}

/* A stranger's frame: of no known magic, so that a rank which gets to see it counts it. */
static void say_something(struct hello *hello)
{
    zmq_send(hello->socket, "something that is no frame", 26, ZMQ_DONTWAIT);
}

/* Without a key at all, and with a key pair but another rank's public key: not a frame gets in. With the right one it
 * does, which shows that there is something to see. */
static void strangers_do_not_get_as_far_as_a_frame(void **state)
{
    char wrong[41], mine[41], secret[41], endpoint[64];
    struct fixture fx;
    struct stretto_train *t;
    json_t *rank;
    void *zmq = zmq_ctx_new();

    fixture_init(&fx, 10, 1, 1, BUFFER);
    on_a_network(&fx, "lo");
    t = fixture_rank(0);
    rank = rank_file(&fx);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", port_of(&fx));
    zmq_curve_keypair(wrong, secret);
    for (int i = 0; i < 3; i++) {
        const char *key = i == 0 ? NULL : i == 1 ? wrong : json_string_value(json_object_get(rank, "curve"));
        struct hello hello = {.socket = zmq_socket(zmq, ZMQ_DEALER), .t = t};
        int linger = 0;

        zmq_setsockopt(hello.socket, ZMQ_LINGER, &linger, sizeof linger);
        if (key != NULL) {
            zmq_curve_keypair(mine, secret);
            zmq_setsockopt(hello.socket, ZMQ_CURVE_SERVERKEY, key, 40);
            zmq_setsockopt(hello.socket, ZMQ_CURVE_PUBLICKEY, mine, 40);
            zmq_setsockopt(hello.socket, ZMQ_CURVE_SECRETKEY, secret, 40);
        }
        assert_int_equal(zmq_connect(hello.socket, endpoint), 0);
        say_something(&hello);
        assert_int_equal(fixture_wait(answered, &hello, i < 2 ? 500 : 20000), i == 2);
        zmq_close(hello.socket);
    }
    json_decref(rank);
    zmq_ctx_term(zmq);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void an_endpoint_in_the_clear_is_not_used(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s;
    json_t *rank;
    struct error err;
    char deadline[32];

    fixture_init(&fx, 10, 1, 1, BUFFER);
    t = fixture_rank(0);
    rank = rank_file(&fx);
    json_object_set_new(rank, "host", json_string("elsewhere"));
    json_object_set_new(rank, "endpoints", json_pack("[s]", "tcp://192.0.2.1:4000"));
    assert_int_equal(file_write_json(fixture_path(&fx, "g1-rank0.json"), rank, 0600, &err), 0);
    json_decref(rank);
    snprintf(deadline, sizeof deadline, "%lld", (long long)time(NULL) - 1);
    setenv("STRETTO_DEADLINE", deadline, 1);
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{\"a\": 0, \"b\": 0.5}", 1);
    assert_int_equal(stretto_open(&s), -1);
    assert_non_null(strstr(stretto_error(s), "no endpoint that can be reached"));
    stretto_abort(s);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void an_interface_that_is_not_there_is_named(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    fixture_init(&fx, 10, 1, 1, BUFFER);
    on_a_network(&fx, "hsn7");
    setenv("STRETTO_RANK", "0", 1);
    assert_int_equal(stretto_train_open(&t), -1);
    assert_non_null(strstr(stretto_train_error(t), "\"hsn7\""));
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* 127.0.0.2 is an address of this host, but not one of the interface "lo". */
static void only_the_named_interface_is_listened_on(void **state)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct fixture fx;
    struct stretto_train *t;

    fixture_init(&fx, 10, 1, 1, BUFFER);
    on_a_network(&fx, "lo");
    t = fixture_rank(0);
    to.sin_port = htons((uint16_t)port_at(&fx, "tcp://127.0.0.1:"));
    for (uint32_t i = 0; i < 2; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK + i);
        assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), i == 0 ? 0 : -1);
        assert_true(i == 0 || errno == ECONNREFUSED);
        close(fd);
    }
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void a_loopback_address_is_listened_on_where_asked_for(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    fixture_init(&fx, 100000, 1, 1, BUFFER);
    setenv("STRETTO_STREAM_TCP", "0.0.0.0", 1); /* frames are not encrypted */
    assert_int_equal(stretto_train_open(&t), -1);
    assert_non_null(strstr(stretto_train_error(t), "loopback"));
    stretto_train_close(t);
    setenv("STRETTO_STREAM_TCP", "127.0.0.1", 1);
    t = fixture_rank(0);
    unsetenv("STRETTO_STREAM_TCP");
    elsewhere(&fx, NULL);
    stream(&fx, t);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void one_process_is_a_rank(void **state)
{
    struct fixture fx;
    struct stretto_train *t, *second;

    fixture_init(&fx, 10, 1, 1, BUFFER);
    t = fixture_rank(0);
    assert_int_equal(stretto_train_open(&second), -1);
    assert_string_equal(stretto_train_error_code(second), "train_twice");
    stretto_train_close(second);
    fixture_member_limit();
    stream(&fx, t); /* which the second has done no harm */
    stretto_train_close(t);
    t = fixture_rank(0); /* after it there can be another */
    stretto_train_close(t);
    fixture_fini(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ipv6_addresses_lead_to_a_rank),
        cmocka_unit_test(a_rank_here_is_reached_by_its_unix_socket),
        cmocka_unit_test(a_rank_on_a_host_of_the_same_name_is_reached_over_the_network),
        cmocka_unit_test(a_socket_here_is_not_that_of_another_host),
        cmocka_unit_test(nobody_on_the_way_can_read_it),
        cmocka_unit_test(addresses_that_lead_nowhere_are_passed_over),
        cmocka_unit_test(an_address_may_begin_to_lead_somewhere),
        cmocka_unit_test(strangers_do_not_get_as_far_as_a_frame),
        cmocka_unit_test(an_endpoint_in_the_clear_is_not_used),
        cmocka_unit_test(an_interface_that_is_not_there_is_named),
        cmocka_unit_test(only_the_named_interface_is_listened_on),
        cmocka_unit_test(a_loopback_address_is_listened_on_where_asked_for),
        cmocka_unit_test(one_process_is_a_rank),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}
