/* What is listened on: addresses, socket files, and who may not listen there; and the certificate with which. */
#include "api/listener.h"
#include "api/tls.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/x509.h>
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

/* --- TCP */

static void what_is_no_address_is_refused(void **state)
{
    static const char *const wrong[] = {"http://x", "", "tcp", "tcp:", "tcp:127.0.0.1", "tcp:127.0.0.1:", "tcp::0", "tcp:[]:0", "tcp:[::1:0",
                                        "tcp:::1:0", "tcp:[::1]0", "tcp:127.0.0.1:x", "tcp:127.0.0.1:-1", "tcp:127.0.0.1:1x",
                                        "tcp:127.0.0.1:65536", "tcp:127.0.0.1:000001", "tcp:::1]:0"};
    char name[300];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses(wrong[i], true, "listen_unsupported");
    snprintf(name, sizeof name, "tcp:%0256d:0", 0);
    refuses(name, true, "listen_unsupported");
    refuses("tcp:[nowhere]:0", false, "listen_failed");
    refuses("unix:", false, "listen_failed");
}

/* By chance somebody else may listen there; then it is another port's turn. */
static bool is_free_in_ipv6(int port)
{
    struct listener other, beside;
    char any[64];

    for (int tries = 0; tries < 20; tries++) {
        snprintf(any, sizeof any, "tcp:[::]:%d", port);
        if (listener_open(&beside, any, true, &err) == 0)
            return close(beside.fd) == 0;
        assert_int_equal(listener_open(&other, "tcp:0.0.0.0:0", true, &err), 0);
        sscanf(other.name, "tcp:0.0.0.0:%d", &port);
        close(listener.fd);
        listener = other;
    }
    return false;
}

static void addresses_are_listened_on(void **state)
{
    struct listener other;
    char again[340];
    int port;

    opens("tcp:127.0.0.1:0", false);
    assert_true(listener.tcp);
    assert_string_equal(listener.host, "127.0.0.1");
    assert_int_equal(sscanf(listener.name, "tcp:127.0.0.1:%d", &port), 1);
    assert_true(port > 0);
    other = listener;
    snprintf(again, sizeof again, "%s", listener.name);
    refuses(again, false, "listen_in_use");
    assert_int_equal(naps, LISTENER_TRIES);
    naps = 0;
    frees_at = 3;
    freed = other.fd;
    opens(again, false); /* whoever is there for a moment only is waited for */
    assert_int_equal(naps, 3);
    assert_string_equal(listener.name, again);
    listener_remove(&listener);
    close(listener.fd);
    opens("tcp:localhost:0", false);
    assert_string_equal(listener.host, "localhost");
    close(listener.fd);
    opens("tcp:0.0.0.0:0", true);
    assert_int_equal(sscanf(listener.name, "tcp:0.0.0.0:%d", &port), 1);
    if (listener_open(&other, "tcp:[::1]:0", false, &err) == 0) { /* if the machine has IPv6 */
        assert_string_equal(other.host, "::1");
        assert_int_equal(strncmp(other.name, "tcp:[::1]:", 10), 0);
        close(other.fd);
        assert_true(is_free_in_ipv6(port)); /* it is beside that of IPv4 */
    }
    close(listener.fd);
}

static void networks_need_tls(void **state)
{
    refuses("tcp:0.0.0.0:0", false, "listen_needs_tls");
    refuses("tcp:[::]:0", false, "listen_needs_tls");
    refuses("tcp:128.0.0.1:0", false, "listen_needs_tls");
    refuses("tcp:[::2]:0", false, "listen_needs_tls");
    refuses("tcp:192.0.2.7:0", true, "listen_failed"); /* no address of this machine */
    assert_int_equal(naps, 0);
    opens("tcp:127.1.2.3:0", false);
    close(listener.fd);
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

/* --- TLS */

static char certificates[2][80], keys[2][80];

static void put(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

/* Writes a certificate `copies` times, and its key. */
static void make_pair(int i, int copies)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    gnutls_datum_t pem;
    char *text;

    snprintf(certificates[i], sizeof certificates[i], "%s/cert%d", dir, i);
    snprintf(keys[i], sizeof keys[i], "%s/key%d", dir, i);
    assert_int_equal(gnutls_x509_privkey_init(&key), 0);
    assert_int_equal(gnutls_x509_privkey_generate(key, GNUTLS_PK_EDDSA_ED25519, 0, 0), 0);
    assert_int_equal(gnutls_x509_crt_init(&crt), 0);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, "\1", 1);
    gnutls_x509_crt_set_activation_time(crt, 1);
    gnutls_x509_crt_set_expiration_time(crt, 2000000000);
    gnutls_x509_crt_set_dn(crt, "CN=localhost", NULL);
    gnutls_x509_crt_set_key(crt, key);
    assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA512, 0), 0);
    assert_int_equal(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem), 0);
    text = calloc((size_t)copies, pem.size + 1);
    for (int n = 0; n < copies; n++)
        memcpy(text + strlen(text), pem.data, pem.size);
    put(certificates[i], text, strlen(text));
    free(text);
    gnutls_free(pem.data);
    assert_int_equal(gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem), 0);
    put(keys[i], pem.data, pem.size);
    gnutls_free(pem.data);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}

typedef int retriever(gnutls_session_t session, const gnutls_datum_t *issuers, int n_issuers,
                      const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **chain,
                      unsigned *n_chain, gnutls_privkey_t *key);

static gnutls_privkey_t present_key(unsigned wanted)
{
    gnutls_pcert_st *chain = NULL;
    gnutls_privkey_t key = NULL;
    unsigned n = 0;

    if (((retriever *)tls_retriever())(NULL, NULL, 0, NULL, 0, &chain, &n, &key) != 0)
        return NULL;
    assert_int_equal(n, wanted);
    assert_true(chain != NULL && key != NULL);
    return key;
}

static void cannot_load(const char *certificate, const char *key)
{
    struct tls tls;

    if (tls_load(&tls, certificate, key, &err) == 0)
        fail_msg("%s and %s are taken", certificate != NULL ? certificate : "nothing", key != NULL ? key : "nothing");
    assert_string_equal(err.code, "tls_unusable");
    assert_null(tls.current);
    assert_null(present_key(0));
    tls_fini(&tls);
}

static void a_certificate_goes_with_its_key(void **state)
{
    struct tls tls;
    char path[80];

    make_pair(0, 1);
    make_pair(1, 2);
    assert_int_equal(tls_load(&tls, NULL, NULL, &err), 0);
    assert_null(tls.current);
    assert_int_equal(tls_reload(&tls, &err), 0);
    assert_null(tls.current);
    tls_fini(&tls);
    cannot_load(certificates[0], NULL);
    cannot_load(NULL, keys[0]);
    cannot_load(certificates[0], keys[1]);
    cannot_load(keys[0], keys[0]);
    cannot_load(certificates[0], certificates[0]);
    snprintf(path, sizeof path, "%s/nowhere", dir);
    cannot_load(path, keys[0]);
    cannot_load(certificates[0], path);
    snprintf(path, sizeof path, "%s/empty", dir);
    put(path, "", 0);
    cannot_load(path, keys[0]);
    cannot_load(certificates[0], path);
    assert_int_equal(tls_load(&tls, certificates[1], keys[1], &err), 0);
    assert_non_null(present_key(2));
    tls_fini(&tls);
    assert_null(tls.current);
    assert_null(present_key(0));
}

static void a_key_is_for_nobody_else(void **state)
{
    struct tls tls;

    make_pair(0, 1);
    for (mode_t mode = 1; mode < 0100; mode <<= 1) {
        assert_int_equal(chmod(keys[0], 0600 | mode), 0);
        cannot_load(certificates[0], keys[0]);
    }
    assert_int_equal(chmod(keys[0], 0400), 0);
    assert_int_equal(chmod(certificates[0], 0644), 0); /* which is no secret, */
    assert_int_equal(tls_load(&tls, certificates[0], keys[0], &err), 0);
    tls_fini(&tls);
    assert_int_equal(chmod(certificates[0], 0666), 0); /* but nobody else writes it */
    cannot_load(certificates[0], keys[0]);
    assert_int_equal(chmod(certificates[0], 0600), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    cannot_load(certificates[0], keys[0]);
}

static void a_renewed_certificate_is_taken_if_it_is_one(void **state)
{
    struct tls tls;
    gnutls_privkey_t first;

    make_pair(0, 1);
    make_pair(1, 1);
    assert_int_equal(tls_load(&tls, certificates[0], keys[0], &err), 0);
    first = present_key(1);
    assert_non_null(first);
    assert_int_equal(rename(certificates[1], certificates[0]), 0);
    assert_int_equal(tls_reload(&tls, &err), -1); /* whose key has not come yet */
    assert_string_equal(err.code, "tls_unusable");
    assert_ptr_equal(present_key(1), first);
    assert_int_equal(rename(keys[1], keys[0]), 0);
    assert_int_equal(tls_reload(&tls, &err), 0);
    assert_true(present_key(1) != NULL && present_key(1) != first);
    tls_fini(&tls);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(what_is_no_address_is_refused), IN_DIR(addresses_are_listened_on), IN_DIR(networks_need_tls), IN_DIR(socket_files_are_ours),
        IN_DIR(what_is_no_socket_is_left_alone), IN_DIR(a_certificate_goes_with_its_key), IN_DIR(a_key_is_for_nobody_else),
        IN_DIR(a_renewed_certificate_is_taken_if_it_is_one),
    };

    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
