/* What is listened on: addresses, socket files, and who may not listen there; and the certificate with which. */
#include "api/listener.h"
#include "api/tls.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static char dir[64];
static struct error err;
static struct listener listener;
static int naps, frees_at, freed = -1; /* the descriptor that is closed in a nap */

/* Nobody sleeps here. */
int usleep(useconds_t us)
{
    if (++naps == frees_at)
        close(freed);
    return 0;
}

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    naps = frees_at = 0;
    return mkdtemp(dir) == NULL;
}

static int tear_down(void **state)
{
    char rm[96];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void refuses(const char *text, bool tls, const char *code)
{
    if (listener_open(&listener, text, tls, &err) == 0)
        fail_msg("%s is listened on", text);
    if (strcmp(err.code, code) != 0)
        fail_msg("%s: %s: %s", text, err.code, err.text);
}

static void opens(const char *text, bool tls)
{
    if (listener_open(&listener, text, tls, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    assert_true((fcntl(listener.fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(listener.fd, F_GETFD) & FD_CLOEXEC) != 0);
}

static int connect_to(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

    snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
    rc = connect(fd, (struct sockaddr *)&addr, sizeof addr);
    close(fd);
    return rc;
}

/* --- Unix sockets */

static void socket_files_are_ours(void **state)
{
    char path[100], text[120], moved[120];
    struct listener first;
    struct stat st;
    mode_t mask = umask(0);

    snprintf(path, sizeof path, "%s/socket", dir);
    snprintf(text, sizeof text, "unix:%s", path);
    opens(text, false);
    assert_int_equal(umask(022), 0);
    umask(mask);
    assert_false(listener.tcp);
    assert_string_equal(listener.name, text);
    assert_string_equal(listener.path, path);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(connect_to(path), 0);
    first = listener;
    refuses(text, false, "listen_in_use");
    assert_int_equal(naps, LISTENER_TRIES);
    naps = 0;
    frees_at = 2;
    freed = first.fd;
    opens(text, false); /* nobody answers any more on the one that was there */
    assert_int_equal(naps, 2);
    assert_int_equal(connect_to(path), 0);
    snprintf(moved, sizeof moved, "%s/other", dir);
    assert_int_equal(rename(path, moved), 0);
    first = listener;
    opens(text, false);
    listener_remove(&first); /* which is another file */
    assert_int_equal(connect_to(path), 0);
    listener_remove(&listener);
    assert_int_equal(lstat(path, &st), -1);
    listener_remove(&listener);
    close(first.fd);
    close(listener.fd);
}

static void what_is_no_socket_is_left_alone(void **state)
{
    char path[100], text[240];
    struct stat st;
    int fd;

    snprintf(path, sizeof path, "%s/file", dir);
    snprintf(text, sizeof text, "unix:%s", path);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    refuses(text, false, "listen_failed");
    assert_int_equal(naps, 0);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    snprintf(text, sizeof text, "unix:%s/%0*d", dir, (int)(108 - strlen(dir) - 1), 0); /* one byte too long */
    refuses(text, false, "listen_failed");
    text[strlen(text) - 1] = '\0';
    opens(text, false);
    listener_remove(&listener);
    close(listener.fd);
    snprintf(text, sizeof text, "unix:%s/nowhere/socket", dir);
    refuses(text, false, "listen_failed");
    assert_int_equal(chmod(dir, 0777), 0);
    snprintf(text, sizeof text, "unix:%s/socket", dir);
    refuses(text, false, "path_not_safe");
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {IN_DIR(socket_files_are_ours), IN_DIR(what_is_no_socket_is_left_alone)};

    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
