/* Events as the text of streams: what many of them share, and what is told where events are missing. */
#include "api/piece.h"
#include "common/text.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char dir[64];
static struct store *store;
static struct pieces pieces;
static struct error err;

static int descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static int open_before;

static int set_up(void **state)
{
    open_before = descriptors();
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    memset(&pieces, 0, sizeof pieces);
    return mkdtemp(dir) == NULL || store_open(&store, dir, &err) < 0;
}

static int tear_down(void **state)
{
    char rm[128];

    pieces_forget(&pieces);
    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) | (descriptors() > open_before); /* none is left open */
}

/* Events of two ensembles in turns, every tenth of kind "tenth", those at `rare` of that kind. */
static void make_events(int64_t n, int64_t rare)
{
    for (int64_t i = 1; i <= n; i++)
        assert_int_equal(store_event_put(store, 1, i == rare ? "rare" : i % 10 == 0 ? "tenth" : "other", 1 + i % 2, i, NULL, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
}

static struct piece *read_piece(int64_t after, int64_t upto, int64_t ensemble, const char *kind)
{
    struct event_filter filter = {.ensemble = ensemble, .kind = kind};
    struct piece *piece = piece_read(&pieces, store, 5000, after, upto, &filter, &err);

    if (piece == NULL)
        fail_msg("%s", err.text);
    return piece;
}

/* The ids in a piece's text, in one line; gaps are told by a "g". */
static void ids_of(const struct piece *piece, struct text *out)
{
    size_t size;
    const char *at = piece_text(piece, &size), *end = at + size;

    while (at < end && (at = memmem(at, (size_t)(end - at), "id: ", 4)) != NULL) {
        long long id;
        char kind[16];

        assert_int_equal(sscanf(at, "id: %lld\nevent: %15s", &id, kind), 2);
        text_add(out, "%lld%s ", id, strcmp(kind, "gap") == 0 ? "g" : "");
        at = memmem(at, (size_t)(end - at), "\n\n", 2);
    }
}

/* What a stream is told of that begins after an event, until there is no more; the pieces. */
static int stream(int64_t after, int64_t upto, int64_t ensemble, const char *kind, struct text *out)
{
    int n = 0;

    out->size = 0;
    text_put(out, "", 0);
    do {
        struct piece *piece = read_piece(after, upto, ensemble, kind);

        ids_of(piece, out);
        after = piece_end(piece);
        piece_drop(piece);
        assert_true(++n < 100);
    } while (after < upto);
    return n;
}

static void is_told(const struct text *text, int64_t from, int64_t step, int64_t to)
{
    struct text wanted = {0};

    text_put(&wanted, "", 0);
    for (int64_t i = from; i <= to; i += step)
        text_add(&wanted, "%lld ", (long long)i);
    assert_string_equal(text->data, wanted.data);
    free(wanted.data);
}

/* One in many is found, and none that lies behind so many others that they are not looked through at once. */
static void a_rare_event_is_told(void **state)
{
    struct text text = {0};

    make_events(25000, 24000);
    assert_in_range(stream(0, 25000, 0, "rare", &text), 2, 4);
    is_told(&text, 24000, 1, 24000);
    free(text.data);
}

static void what_is_shared_is_the_very_same(void **state)
{
    struct piece *all, *again, *other;
    const char *text;
    size_t size;

    make_events(40, 0);
    all = read_piece(0, 40, 0, NULL);
    again = read_piece(0, 40, 0, NULL);
    assert_ptr_equal(all, again);
    piece_drop(again);
    for (int i = 0; i < 5; i++) {
        other = i == 0   ? read_piece(1, 40, 0, NULL)
                : i == 1 ? read_piece(0, 39, 0, NULL)
                : i == 2 ? read_piece(0, 40, 1, NULL)
                : i == 3 ? read_piece(0, 40, 0, "tenth")
                         : read_piece(0, 40, 0, "tenth-of-them");
        assert_ptr_not_equal(other, all);
        text = piece_text(other, &size);
        assert_int_equal(size == 0, i == 4);
        assert_true(size == 0 || text != NULL);
        piece_drop(other);
    }
    for (int64_t i = 1; i <= PIECES_KEPT; i++) /* it is kept no longer than there is room, and lives on for who has it */
        piece_drop(read_piece(i, 40, 0, NULL));
    again = read_piece(0, 40, 0, NULL);
    assert_ptr_not_equal(again, all);
    assert_string_equal(piece_text(again, &size), piece_text(all, &size));
    pieces_forget(&pieces);
    piece_drop(all);
    piece_drop(again);
    other = read_piece(0, 40, 1, "tenth"); /* in whatever order they are asked for */
    all = read_piece(0, 40, 0, "tenth");
    again = read_piece(0, 40, 0, NULL);
    assert_true(other != all && all != again && other != again);
    piece_drop(other);
    piece_drop(all);
    piece_drop(again);
}

static void gaps_are_told(void **state)
{
    struct text text = {0};
    int64_t n;

    make_events(20, 0);
    assert_int_equal(store_exec(store, &err, "UPDATE event SET time = 9 WHERE id > 5", ""), 0);
    assert_int_equal(store_event_prune(store, 5, 100, &n, &err), 0);
    assert_int_equal(n, 5);
    assert_int_equal(store_commit(store, &err), 0);
    stream(2, 20, 0, NULL, &text);
    assert_string_equal(text.data, "5g 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 ");
    stream(5, 8, 0, NULL, &text); /* the last of what is forgotten was seen: nothing is missing */
    assert_string_equal(text.data, "6 7 8 ");
    stream(3, 20, 0, "tenth", &text); /* also who wants some of them only */
    assert_string_equal(text.data, "5g 10 20 ");
    stream(99, 20, 0, NULL, &text); /* seen where another database was */
    assert_string_equal(text.data, "20g ");
    stream(20, 20, 0, NULL, &text);
    assert_string_equal(text.data, "");
    free(text.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_rare_event_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_shared_is_the_very_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gaps_are_told, set_up, tear_down),
    };

    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
