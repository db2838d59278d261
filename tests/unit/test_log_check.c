/* A log that the last process left: a crash in the middle of a commit is told from damage to what was flushed. */
#include "common/log.h"
#include "daemon/store/event.h"
#include "daemon/store/internal.h"
#include "daemon/store/log_check.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOTES 6 /* transactions after those of the start */
#define FRAMES 512

static char dir[64], path[96], saved[96];

static struct {
    off_t at;
    bool ends;
} frames[FRAMES];
static size_t n_frames, frame_size;
static size_t ends[FRAMES], n_ends; /* of transactions: indices of frames */

static size_t number(const unsigned char *at)
{
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* The daemon that wrote it is killed, so that the log stays. */
static void write_log(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct store *store;
        struct error err;

        if (store_open(&store, dir, &err) < 0)
            _exit(1);
        for (int i = 0; i < NOTES; i++)
            if (store_event_add(store, 1, "note", i + 1, -1, NULL, &err) < 0 || store_commit(store, &err) < 0)
                _exit(2);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void find_frames(void)
{
    unsigned char header[32], frame[24];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    n_frames = n_ends = 0;
    assert_int_equal(pread(fd, header, sizeof header, 0), sizeof header);
    frame_size = sizeof frame + number(header + 8);
    for (off_t at = 32; n_frames < FRAMES && pread(fd, frame, sizeof frame, at) == sizeof frame &&
                        memcmp(frame + 8, header + 16, 8) == 0;
         at += (off_t)frame_size) {
        frames[n_frames].at = at;
        frames[n_frames].ends = number(frame + 4) != 0;
        if (frames[n_frames].ends)
            ends[n_ends++] = n_frames;
        n_frames++;
    }
    close(fd);
    assert_in_range(n_frames, NOTES, FRAMES - 1);
    assert_in_range(n_ends, NOTES, FRAMES);
}

static void copy(const char *from, const char *to)
{
    char command[256];

    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/stretto.db-wal", dir);
    snprintf(saved, sizeof saved, "%s/saved", dir);
    write_log();
    find_frames();
    copy(path, saved);
    return 0;
}

static int tear_down(void **state)
{
    char rm[128];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void overwrite(off_t at, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    assert_int_equal(pwrite(fd, data, size, at), size);
    close(fd);
}

static void flip(off_t at)
{
    unsigned char byte;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    close(fd);
    byte ^= 4;
    overwrite(at, &byte, 1);
}

static void empty(size_t frame)
{
    unsigned char *zeros = calloc(1, frame_size);

    overwrite(frames[frame].at, zeros, frame_size);
    free(zeros);
}

static void is(enum log_state wanted, const char *what)
{
    enum log_state state = log_check(path);

    if (state != wanted)
        fail_msg("%s: %d, not %d", what, (int)state, (int)wanted);
    copy(saved, path);
}

static void a_log_is_sound_as_it_is_left(void **state)
{
    static const unsigned char zeros[32];

    is(LOG_SOUND, "as it is");
    overwrite(0, zeros, sizeof zeros);
    is(LOG_SOUND, "emptied");
    assert_int_equal(unlink(path), 0);
    is(LOG_SOUND, "not there");
    assert_int_equal(truncate(path, frames[ends[2]].at + (off_t)frame_size), 0);
    is(LOG_SOUND, "another one, of before");
}

/* Damage shows, whichever flushed bit is flipped, and whichever frame is lost. */
static void damage_to_what_was_flushed_shows(void **state)
{
    size_t last = ends[n_ends - 2]; /* the last frame that was flushed for sure */

    for (size_t i = 0; i <= last; i++) {
        flip(frames[i].at + 24 + (off_t)(i * 37 % (frame_size - 24)));
        is(LOG_DAMAGED, "a flipped bit");
    }
    for (size_t i = 0; i <= ends[n_ends - 4]; i++) { /* who did not end a transaction is not known of what is lost */
        empty(i);
        is(LOG_DAMAGED, "a lost frame");
    }
    flip(4);
    is(LOG_DAMAGED, "a flipped bit of the header");
    assert_int_equal(truncate(path, 0), 0);
    is(LOG_CUT, "cut off");
}

/* The machine has crashed before the last transaction was flushed: any of its frames may be missing. */
static void a_torn_transaction_is_no_damage(void **state)
{
    size_t first = ends[n_ends - 2] + 1;

    assert_true(first < n_frames - 1);
    for (size_t i = first; i < n_frames; i++) {
        struct store *store;
        struct error err;

        empty(i);
        is(i > first || i < n_frames - 1 ? LOG_TORN : LOG_SOUND, "a frame that was not flushed");
        empty(i);
        if (store_open(&store, dir, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(store_event_newest(store), NOTES - 1); /* all but the last */
        store_close(store);
        tear_down(state);
        assert_int_equal(set_up(state), 0);
    }
    for (size_t i = first; i < n_frames; i++)
        empty(i);
    is(LOG_SOUND, "nothing of it was flushed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_log_is_sound_as_it_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_to_what_was_flushed_shows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_torn_transaction_is_no_damage, set_up, tear_down),
    };

    log_init("log_check", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
