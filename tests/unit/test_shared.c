/* The memory that a member shares: its pieces, and how a rank opens it, which nobody can make it regret. */
#include "tasks/member/parcel.h"
#include "tasks/proto/shared.h"
#include "tasks/train/peers.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_such_memory_is_not_opened),
        cmocka_unit_test(memory_outlives_its_owner_for_a_while),
    };

    test_limit(200);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
