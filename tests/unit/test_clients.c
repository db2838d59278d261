/* Connections of those who are not known yet, in virtual time: who must go, when, and what is counted. */
#include "api/clients.h"
#include "api/limits.h"
#include "tests/unit/unit.h"
#include "tests/unit/virtual_uv.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM 16 /* of which 4 are for strangers */
#define STRANGERS 4

static struct clients *clients;
static struct clients_counts total;
static struct {
    struct http_client *client;
    int ours, theirs;
} peers[ROOM];

static int open_clients(void **state)
{
    virtual_uv_begin(1000000);
    memset(&total, 0, sizeof total);
    memset(peers, 0, sizeof peers);
    clients = clients_create(NULL, ROOM, &total);
    return 0;
}

static void come(int i)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    peers[i].ours = fds[0];
    peers[i].theirs = fds[1];
    peers[i].client = clients_add(clients, fds[0]);
}

static void go(int i)
{
    clients_remove(clients, peers[i].client);
    close(peers[i].ours);
    close(peers[i].theirs);
    peers[i].client = NULL;
}

static int close_clients(void **state)
{
    for (int i = 0; i < ROOM; i++)
        if (peers[i].client != NULL)
            go(i);
    assert_int_equal(total.strangers + total.known, 0);
    clients_destroy(clients);
    return 0;
}

/* The peer sees the end of the connection. */
static bool is_evicted(int i)
{
    char byte;

    return recv(peers[i].theirs, &byte, 1, 0) == 0;
}

static void counts_are(unsigned strangers, unsigned known, uint64_t evicted)
{
    if (total.strangers != strangers || total.known != known || total.evicted != evicted)
        fail_msg("%u strangers, %u known, %u evicted, not %u, %u, %u", total.strangers, total.known,
                 (unsigned)total.evicted, strangers, known, (unsigned)evicted);
}

static void one_more_stranger_makes_the_eldest_go(void **state)
{
    for (int i = 0; i < STRANGERS; i++) {
        come(i);
        virtual_uv_go_on(1);
    }
    counts_are(STRANGERS, 0, 0);
    assert_true(clients_admit(clients, peers[0].client)); /* the eldest is none any more */
    come(4);
    counts_are(STRANGERS, 1, 0);
    come(5);
    counts_are(STRANGERS, 1, 1);
    for (int i = 0; i <= 5; i++)
        assert_int_equal(is_evicted(i), i == 1);
    assert_true(clients_admit(clients, peers[0].client)); /* again: it is counted once */
    counts_are(STRANGERS, 1, 1);
    go(1);
    counts_are(STRANGERS, 1, 1);
    go(0);
    counts_are(STRANGERS, 0, 1);
    go(2);
    counts_are(STRANGERS - 1, 0, 1);
}

/* Each has its own time, whoever came before or after. */
static void a_stranger_has_its_time_to_ask(void **state)
{
    come(0);
    virtual_uv_go_on(LIMIT_STRANGER_MS / 2);
    come(1);
    come(2);
    assert_true(clients_admit(clients, peers[1].client));
    virtual_uv_go_on(LIMIT_STRANGER_MS / 2 - 1);
    assert_false(is_evicted(0));
    virtual_uv_go_on(2);
    assert_true(is_evicted(0));
    assert_false(is_evicted(2));
    virtual_uv_go_on(LIMIT_STRANGER_MS / 2 - 2);
    assert_false(is_evicted(2));
    virtual_uv_go_on(3);
    assert_true(is_evicted(2));
    virtual_uv_go_on(10 * LIMIT_STRANGER_MS);
    assert_false(is_evicted(1));
    counts_are(0, 1, 2);
    come(3); /* after a time without any */
    virtual_uv_go_on(LIMIT_STRANGER_MS - 1);
    assert_false(is_evicted(3));
    virtual_uv_go_on(2);
    assert_true(is_evicted(3));
}

/* What it asked for may have been done: without the answer it would ask again. */
static void a_stranger_that_is_being_answered_is_not_late(void **state)
{
    come(0);
    virtual_uv_go_on(LIMIT_STRANGER_MS - 1);
    clients_answer(clients, peers[0].client, true);
    virtual_uv_go_on(LIMIT_STRANGER_MS / 2);
    assert_false(is_evicted(0));
    clients_answer(clients, peers[0].client, false);
    virtual_uv_go_on(LIMIT_STRANGER_MS);
    assert_true(is_evicted(0)); /* it is still a stranger */
    counts_are(0, 0, 1);
}

static void strangers_that_are_being_answered_go_last(void **state)
{
    for (int i = 0; i < STRANGERS; i++)
        come(i);
    clients_answer(clients, peers[0].client, true);
    clients_answer(clients, peers[2].client, true);
    come(STRANGERS);
    come(STRANGERS + 1);
    for (int i = 0; i < STRANGERS; i++)
        assert_int_equal(is_evicted(i), i % 2 == 1);
    clients_answer(clients, peers[STRANGERS].client, true);
    clients_answer(clients, peers[STRANGERS + 1].client, true);
    come(STRANGERS + 2); /* there is room for it, whatever the others do */
    assert_true(is_evicted(0));
    counts_are(STRANGERS, 0, 3);
}

/* What came while the daemon was held up is read before anybody is judged by it. */
static void a_daemon_that_was_held_up_reads_first(void **state)
{
    come(0);
    virtual_uv_hold_up(3 * LIMIT_STRANGER_MS);
    virtual_uv_go_on(0);
    assert_false(is_evicted(0));
    assert_true(clients_admit(clients, peers[0].client)); /* its request lay there */
    virtual_uv_go_on(LIMIT_STRANGER_MS);
    assert_false(is_evicted(0));
    counts_are(0, 1, 0);
}

static void strangers_take_no_room_from_those_who_are_known(void **state)
{
    for (int i = 0; i < ROOM - STRANGERS; i++) {
        come(i);
        assert_true(clients_admit(clients, peers[i].client));
    }
    come(ROOM - STRANGERS);
    assert_false(clients_admit(clients, peers[ROOM - STRANGERS].client));
    counts_are(1, ROOM - STRANGERS, 0);
    go(3);
    assert_true(clients_admit(clients, peers[ROOM - STRANGERS].client));
    counts_are(0, ROOM - STRANGERS, 0);
}

#define WITH_CLIENTS(test) cmocka_unit_test_setup_teardown(test, open_clients, close_clients)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CLIENTS(one_more_stranger_makes_the_eldest_go),
        WITH_CLIENTS(a_stranger_has_its_time_to_ask),
        WITH_CLIENTS(a_stranger_that_is_being_answered_is_not_late),
        WITH_CLIENTS(strangers_that_are_being_answered_go_last),
        WITH_CLIENTS(a_daemon_that_was_held_up_reads_first),
        WITH_CLIENTS(strangers_take_no_room_from_those_who_are_known),
    };

    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
