/* The memory that a member shares: its pieces, and how a rank opens it, which nobody can make it regret. */
#include "tasks/member/parcel.h"
#include "tasks/proto/shared.h"
#include "tasks/train/mapping.h"
#include "tasks/train/peers.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE ((size_t)1 << 20)

/* Returns the lowest descriptor that is free: none was left open if it is the same as before. */
static int lowest_free(void)
{
    int fd = dup(STDIN_FILENO);

    close(fd);
    return fd;
}

/* Does what slots_offer() would, of that descriptor of this process. */
static json_t *offer_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return json_pack("{s:i, s:i, s:I}", "pid", (int)getpid(), "fd", fd, "inode", (json_int_t)st.st_ino);
}

static struct mapping *open_of(struct slots *slots, size_t size_max)
{
    json_t *offer = slots_offer(slots);
    struct mapping *m = mapping_open(offer, size_max);

    json_decref(offer);
    return m;
}

static void pieces_are_apart_and_come_back(void **state)
{
    enum { ROUNDS = 20000, MOST = 40 };
    struct slots *slots = slots_create(SIZE);
    struct lent_slot *slot[MOST] = {NULL};
    size_t bytes[MOST] = {0};
    unsigned random = 1, none = 0;

    assert_non_null(slots);
    for (int round = 0; round < ROUNDS; round++) {
        int i = (int)((random = random * 1103515245u + 12345u) >> 16) % MOST;
        uint8_t *at = slot[i] != NULL ? slot_payload(slot[i]) : NULL;

        if (at != NULL) {
            assert_true(at[0] == i && at[bytes[i] / 2] == i && at[bytes[i] - 1] == i && (uintptr_t)at % 64 == 0);
            slot_give_back(slot[i]);
            slot[i] = NULL;
            continue;
        }
        bytes[i] = 1 + (random >> 8) % (SIZE / 8);
        slot[i] = slot_take(slots, bytes[i]);
        none += slot[i] == NULL;
        if (slot[i] != NULL)
            memset(slot_payload(slot[i]), i, bytes[i]);
    }
    assert_true(none > 0); /* it was full at times */
    for (int i = 0; i < MOST; i++)
        if (slot[i] != NULL)
            slot_give_back(slot[i]);
    slot[0] = slot_take(slots, SIZE); /* and all of it is free again */
    assert_non_null(slot[0]);
    assert_null(slot_take(slots, 1));
    slot_give_back(slot[0]);
    assert_null(slot_take(slots, SIZE + 1));
    slots_destroy(slots);
}

static void a_piece_is_taken_as_long_as_a_message_holds_it(void **state)
{
    struct sendbuf_pool *pool = sendbuf_pool_create();
    struct slots *slots = slots_create(SIZE);
    struct parcel p, plain;
    zmq_msg_t copy;

    assert_int_equal(parcel_make(&p, pool, slots, SIZE), 0);
    assert_true(p.in_memory);
    assert_int_equal(parcel_make(&plain, pool, slots, SHARED_FROM), 0); /* there is no room */
    assert_false(plain.in_memory);
    zmq_msg_close(&plain.msg);
    zmq_msg_init(&copy);
    zmq_msg_copy(&copy, &p.msg);
    zmq_msg_close(&p.msg);
    assert_null(slot_take(slots, 1));
    zmq_msg_close(&copy);
    assert_int_equal(parcel_make(&p, pool, slots, SHARED_FROM), 0);
    assert_true(p.in_memory);
    assert_int_equal(zmq_msg_size(&p.msg), FRAME_HEADER_SIZE + FRAME_PLACE_SIZE);
    assert_ptr_equal(slots_payload(slots, &p.msg), p.payload);
    zmq_msg_close(&p.msg);
    assert_int_equal(parcel_make(&plain, pool, slots, SHARED_FROM - 1), 0); /* too small to be worth it */
    assert_false(plain.in_memory);
    zmq_msg_close(&plain.msg);
    slots_destroy(slots);
    sendbuf_pool_destroy(pool);
}

/* For a rank that cannot read what is shared. */
static void a_message_can_have_its_payload_itself(void **state)
{
    struct frame f = {.kind = FRAME_SAMPLE, .flags = FRAME_IN_MEMORY, .sequence = 7, .length = SHARED_FROM}, g;
    struct sendbuf_pool *pool = sendbuf_pool_create();
    struct slots *slots = slots_create(SIZE);
    struct parcel p;

    assert_int_equal(parcel_make(&p, pool, slots, SHARED_FROM), 0);
    memset(p.payload, 'x', SHARED_FROM);
    frame_encode(&f, zmq_msg_data(&p.msg));
    for (int i = 0; i < 2; i++) { /* and once more does nothing */
        assert_int_equal(parcel_unshare(&p.msg, pool, slots), 0);
        assert_int_equal(zmq_msg_size(&p.msg), FRAME_HEADER_SIZE + SHARED_FROM);
        assert_int_equal(frame_decode(zmq_msg_data(&p.msg), zmq_msg_size(&p.msg), &g), FRAME_OK);
        assert_true(g.flags == 0 && g.sequence == 7);
        for (size_t at = 0; at < SHARED_FROM; at++)
            assert_int_equal(((char *)zmq_msg_data(&p.msg))[FRAME_HEADER_SIZE + at], 'x');
    }
    slot_give_back(slot_take(slots, SIZE)); /* the piece is free */
    zmq_msg_close(&p.msg);
    slots_destroy(slots);
    sendbuf_pool_destroy(pool);
}

static void a_rank_sees_what_a_member_writes(void **state)
{
    int free_before = lowest_free(), free_shared;
    struct slots *slots = slots_create(SIZE);
    struct lent_slot *first = slot_take(slots, 1), *slot = slot_take(slots, 100000);
    struct mapping *m;

    free_shared = lowest_free();
    m = open_of(slots, SIZE);
    assert_non_null(m);
    assert_int_equal(lowest_free(), free_shared); /* a rank may have the memory of very many members */
    memset(slot_payload(slot), 'a', 100000);
    assert_memory_equal(mapping_at(m, SHARED_UNIT, 100000), slot_payload(slot), 100000);
    assert_non_null(mapping_at(m, 0, SIZE));
    assert_non_null(mapping_at(m, SIZE - SHARED_UNIT, SHARED_UNIT));
    assert_null(mapping_at(m, SIZE - SHARED_UNIT, SHARED_UNIT + 1));
    assert_null(mapping_at(m, SHARED_UNIT + 64, 1));
    assert_null(mapping_at(m, SHARED_UNIT, SIZE));
    assert_null(mapping_at(m, SHARED_UNIT, UINT64_MAX));
    assert_null(mapping_at(m, SIZE + SHARED_UNIT, 1));
    assert_null(mapping_at(m, UINT64_MAX / SHARED_UNIT * SHARED_UNIT, SHARED_UNIT));
    slot_give_back(first);
    slot_give_back(slot);
    slots_destroy(slots);
    assert_memory_equal(mapping_at(m, SHARED_UNIT, 1), "a", 1); /* also once its owner has let go of it */
    mapping_close(m);
    assert_int_equal(lowest_free(), free_before);
}

static void assert_not_opened(json_t *offer)
{
    int free_before = lowest_free();
    struct mapping *m = mapping_open(offer, SIZE);

    if (m != NULL)
        fail_msg("opened: %s", json_dumps(offer, 0));
    assert_int_equal(lowest_free(), free_before);
    json_decref(offer);
}

static void what_is_no_such_memory_is_not_opened(void **state)
{
    struct slots *slots = slots_create(SIZE), *large = slots_create(2 * SIZE);
    json_t *offer = slots_offer(slots);
    int pipes[2], file = open("/proc/self/exe", O_RDONLY),
                  naked = memfd_create(SHARED_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING),
                  grown = memfd_create(SHARED_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING),
                  other = memfd_create("other", MFD_ALLOW_SEALING);

    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(ftruncate(naked, SIZE) | ftruncate(grown, SIZE) | ftruncate(other, SIZE), 0);
    assert_int_equal(fcntl(grown, F_ADD_SEALS, F_SEAL_GROW) | fcntl(other, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_null(mapping_open(NULL, SIZE));
    assert_null(open_of(large, SIZE)); /* more than a member needs */
    json_object_set_new(offer, "inode", json_integer(1 + json_integer_value(json_object_get(offer, "inode"))));
    assert_not_opened(offer);
    assert_not_opened(json_pack("{s:i, s:i, s:i}", "pid", -1, "fd", 3, "inode", 3));
    assert_not_opened(json_pack("{s:i, s:i, s:i}", "pid", 1 << 30, "fd", 3, "inode", 3));
    assert_not_opened(json_pack("{s:s, s:s}", "pid", "self", "fd", "../../../etc/passwd"));
    assert_not_opened(json_string("memory"));
    assert_not_opened(offer_of(pipes[0])); /* the attempt to open it would wait */
    assert_not_opened(offer_of(file));
    assert_not_opened(offer_of(naked)); /* could be made smaller, which its reader would not survive */
    assert_not_opened(offer_of(grown));
    assert_not_opened(offer_of(other));
    assert_null(open_of(slots, 0));
    close(pipes[0]);
    close(pipes[1]);
    close(file);
    close(naked);
    close(grown);
    close(other);
    slots_destroy(large);
    slots_destroy(slots);
}

static void without_such_memory_there_is_none(void **state)
{
    struct rlimit limit, low = {.rlim_cur = SIZE / 2};

    assert_null(slots_create(0));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    low.rlim_max = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    assert_null(slots_create(SIZE)); /* and no SIGXFSZ */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* What a killed member has announced can still be read; its memory does not stay for ever. */
static void memory_outlives_its_owner_for_a_while(void **state)
{
    struct peers *peers = peers_create();
    struct peer *peer = peers_add(peers, 1, 5, 1, sample_params_create(0));
    int to_parent[2], to_child[2];
    char text[200] = "";
    json_t *offer;
    pid_t child;

    assert_int_equal(pipe(to_parent) | pipe(to_child), 0);
    child = fork();
    if (child == 0) {
        struct slots *slots = slots_create(SIZE);

        offer = slots_offer(slots);
        memset(slot_payload(slot_take(slots, SHARED_FROM)), 'b', SHARED_FROM);
        snprintf(text, sizeof text, "%s", json_dumps(offer, 0));
        _exit(write(to_parent[1], text, sizeof text) == sizeof text && read(to_child[0], text, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(read(to_parent[0], text, sizeof text), sizeof text);
    offer = json_loads(text, 0, NULL);
    peer->memory = mapping_open(offer, SIZE);
    assert_non_null(peer->memory);
    for (int i = 0; i < 3; i++)
        peers_sweep(peers);
    assert_non_null(peer->memory);
    assert_int_equal(write(to_child[1], "x", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(mapping_has_owner(peer->memory));
    peers_sweep(peers);
    assert_memory_equal(mapping_at(peer->memory, 0, SHARED_FROM), "bbbb", 4);
    peers_sweep(peers);
    assert_null(peer->memory);
    peers_sweep(peers);
    assert_null(mapping_open(offer, SIZE));
    json_decref(offer);
    peers_destroy(peers);
}

static void its_size_follows_from_the_fields(void **state)
{
    struct field_set fields = {.count = 2, .field = {{.bytes = 8}, {.bytes = SHARED_FROM - 1}}};

    assert_int_equal(shared_size(&fields, 1), 0);
    fields.field[0].bytes = 4000000;
    assert_int_equal(shared_size(&fields, 1), FRAME_WINDOW_BYTES / 4 * 5 + shared_units(4000000) * SHARED_UNIT);
    fields.field[1].bytes = FRAME_WINDOW_BYTES; /* two to each rank may be on their way */
    assert_int_equal(shared_size(&fields, 3), 7 * FRAME_WINDOW_BYTES + shared_units(4000000) * SHARED_UNIT);
    fields.field[1].bytes = FIELD_BYTES_MAX;
    assert_int_equal(shared_size(&fields, 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_apart_and_come_back),
        cmocka_unit_test(a_piece_is_taken_as_long_as_a_message_holds_it),
        cmocka_unit_test(a_message_can_have_its_payload_itself),
        cmocka_unit_test(a_rank_sees_what_a_member_writes),
        cmocka_unit_test(what_is_no_such_memory_is_not_opened),
        cmocka_unit_test(without_such_memory_there_is_none),
        cmocka_unit_test(memory_outlives_its_owner_for_a_while),
        cmocka_unit_test(its_size_follows_from_the_fields),
    };

    test_limit(200);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
