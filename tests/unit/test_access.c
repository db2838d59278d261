/* The parts of who may get in: tokens, host names, the counting of failed tries. */
#include "tests/unit/unit.h"

#include "api/host.h"
#include "api/origin.h"
#include "api/refusals.h"
#include "api/session.h"
#include "api/token.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void tokens_are_spelt_and_read(void **state)
{
    char secret[TOKEN_SECRET_SIZE], other[TOKEN_SECRET_SIZE], token[TOKEN_SIZE], hash[65], hash2[65];
    int64_t id = 0;

    token_secret(secret);
    token_secret(other);
    assert_int_equal(strlen(secret), TOKEN_SECRET_SIZE - 1);
    assert_string_not_equal(secret, other);
    token_spell(INT64_MAX, secret, token);
    assert_int_equal(token_parse(token, &id, other), 0);
    assert_true(id == INT64_MAX);
    assert_string_equal(secret, other);
    token_hash(secret, hash);
    token_hash(other, hash2);
    assert_string_equal(hash, hash2);
    other[0] = other[0] == 'A' ? 'B' : 'A';
    token_hash(other, hash2);
    assert_string_not_equal(hash, hash2);
}

#define SECRET "abcdefghijabcdefghijabcdefghijabcdefghij-_3"

static void what_is_no_token_is_not_read(void **state)
{
    static const char *const wrong[] = {
        "", "stretto_", "stretto_1", "stretto_1_", "stretto__" SECRET, "stretto_-1_" SECRET, "stretto_ 1_" SECRET,
        "stretto_1_" SECRET "x", "stretto_1_bcdefghijabcdefghijabcdefghijabcdefghij-_3", "Stretto_1_" SECRET,
        "stretto_1_+bcdefghijabcdefghijabcdefghijabcdefghij-_3", "stretto_9223372036854775808_" SECRET, "1_" SECRET,
    };
    char secret[TOKEN_SECRET_SIZE];
    int64_t id;

    assert_int_equal(token_parse("stretto_1_" SECRET, &id, secret), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (token_parse(wrong[i], &id, secret) == 0)
            fail_msg("\"%s\" was read", wrong[i]);
    }
}

static void hosts(void **state)
{
    static const char *const names[] = {"login1.example.org", NULL};
    static const struct {
        const char *header;
        bool allowed;
    } cases[] = {
        {"localhost", true}, {"LocalHost:80", true}, {"127.0.0.1:1", true}, {"127.9.9.9", true}, {"[::1]", true},
        {"[::1]:80", true}, {"login1.example.org:8443", true}, {"LOGIN1.example.org", true}, {"mine", true},
        {NULL, false}, {"", false}, {":80", false}, {"localhost:", true}, {"localhost:80:80", false},
        {"localhost.evil.example", false}, {"example.org", false}, {"127.0.0.1.evil.example", false},
        {"2130706433", false}, {"0x7f.1", false}, {"10.0.0.1", false}, {"[::2]", false},
        {"[::1", false}, {"[::1]x", false}, {"[::ffff:10.0.0.1]", false}, {"localhost@evil.example", false},
        {"localhost, evil.example", false},
    };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (host_allowed(cases[i].header, "mine", fd, names) != cases[i].allowed)
            fail_msg("Host: %s", cases[i].header ? cases[i].header : "(none)");
    }
    assert_true(host_allowed("localhost", "mine", fd, NULL));
    close(fd);
}

static struct sockaddr *v4(struct sockaddr_in *addr, uint32_t number)
{
    *addr = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(number)}};
    return (struct sockaddr *)addr;
}

static void failed_tries_are_counted_by_address(void **state)
{
    static struct refusals refusals;
    struct sockaddr_in one, two;
    struct refusals_verdict verdict = {0};
    unsigned logged = 0, many = 0;

    for (int i = 0; i < REFUSALS_MAX + 10; i++) {
        verdict = refusals_add(&refusals, v4(&one, 1), 1000);
        logged += verdict.log;
        many += verdict.too_many;
    }
    assert_int_equal(logged, REFUSALS_LOGGED);
    assert_int_equal(many, 10);
    verdict = refusals_add(&refusals, v4(&two, 2), 1000);
    assert_true(verdict.log);
    assert_false(verdict.too_many);
    /* a minute later it begins anew, and tells how many were not logged */
    verdict = refusals_add(&refusals, v4(&one, 1), 61000);
    assert_true(verdict.log);
    assert_false(verdict.too_many);
    assert_int_equal(verdict.silent, REFUSALS_MAX + 10 - REFUSALS_LOGGED);
}

static void many_addresses_do_not_flood_the_log(void **state)
{
    static struct refusals refusals;
    struct sockaddr_in addr;
    unsigned logged = 0;

    for (uint32_t i = 0; i < 100000; i++)
        logged += refusals_add(&refusals, v4(&addr, i + 1), 1000).log;
    assert_int_equal(logged, REFUSALS_SLOTS + REFUSALS_LOGGED);
}

static void origins(void **state)
{
    static const struct {
        const char *url, *host;
        bool tls, same;
    } cases[] = {
        {"http://localhost:8080", "localhost:8080", false, true}, {"HTTP://LocalHost:8080/a?b", "localhost:8080", false, true},
        {"http://localhost", "localhost", false, true},           {"http://localhost:80", "localhost", false, true},
        {"http://localhost", "localhost:80", false, true},        {"https://a.example", "a.example:443", true, true},
        {"https://a.example", "a.example", false, true},          {"http://[::1]:7", "[::1]:7", false, true},
        {"http://a.example", "a.example", true, false},           {"http://localhost:8081", "localhost:8080", false, false},
        {"http://localhost:8080", "localhost", false, false},     {"http://localhost.evil.example", "localhost", false, false},
        {"http://localhost@evil.example", "localhost", false, false}, {"http://evil.example/localhost", "localhost", false, false},
        {"null", "localhost", false, false},                      {"", "localhost", false, false},
        {"localhost", "localhost", false, false},                 {"file://localhost", "localhost", false, false},
        {"http://", "localhost", false, false},                   {"http://:80", "localhost", false, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (origin_is_same(cases[i].url, cases[i].host, cases[i].tls) != cases[i].same)
            fail_msg("%s and %s", cases[i].url, cases[i].host);
}

#define PLACE "abcdefghijabcdefghij-_"

static void places_of_sessions(void **state)
{
    static const struct {
        const char *path, *place, *rest;
    } cases[] = {
        {"/s/" PLACE "/v1/ensembles", PLACE, "/v1/ensembles"}, {"/s/" PLACE "/", PLACE, "/"},
        {"/s/" PLACE "/s/" PLACE "/v1", PLACE, "/s/" PLACE "/v1"}, {"/v1/ensembles", "", "/v1/ensembles"},
        {"/s/" PLACE, "", "/s/" PLACE}, {"/s/" PLACE "x/v1", "", "/s/" PLACE "x/v1"}, {"/s/x/v1", "", "/s/x/v1"},
        {"/s//v1", "", "/s//v1"}, {"/", "", "/"}, {"", "", ""}, {"x/s/" PLACE "/v1", "", "x/s/" PLACE "/v1"},
    };
    char place[SESSION_PLACE_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(session_path(cases[i].path, place), cases[i].rest);
        assert_string_equal(place, cases[i].place);
    }
}

static void cookies_of_sessions(void **state)
{
    static const char *const good[] = {"stretto=" SECRET, "a=b; stretto=" SECRET, "stretto=" SECRET "; a=b", "a=b;stretto=" SECRET ";c",
                                       "stretto=" SECRET "; stretto=x", "a=\"x\"; ; =; stretto=" SECRET};
    static const char *const bad[] = {"", "stretto=", "stretto", "xstretto=" SECRET, "stretto=" SECRET "x", "a=stretto=" SECRET,
                                      "stretto=x; stretto=" SECRET, "Stretto=" SECRET, "stretto = " SECRET, ";", "stretto=short; a"};
    char secret[TOKEN_SECRET_SIZE];

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!session_secret(good[i], secret))
            fail_msg("no secret in %s", good[i]);
        assert_string_equal(secret, SECRET);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (session_secret(bad[i], secret))
            fail_msg("a secret in %s", bad[i]);
    assert_false(session_secret(NULL, secret));
}

/* The place and the secret are both needed, and told apart. */
static void hashes_of_sessions(void **state)
{
    struct session_key key, other;
    char hash[65], hash2[65];

    session_key_make(&key);
    session_key_make(&other);
    assert_int_equal(strlen(key.place), SESSION_PLACE_SIZE - 1);
    session_hash(&key, hash);
    strcpy(other.secret, key.secret);
    session_hash(&other, hash2);
    assert_string_not_equal(hash, hash2);
    strcpy(other.place, key.place);
    session_hash(&other, hash2);
    assert_string_equal(hash, hash2);
    other.secret[0] = other.secret[0] == 'A' ? 'B' : 'A';
    session_hash(&other, hash2);
    assert_string_not_equal(hash, hash2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_spelt_and_read),
        cmocka_unit_test(what_is_no_token_is_not_read),
        cmocka_unit_test(hosts),
        cmocka_unit_test(origins),
        cmocka_unit_test(places_of_sessions),
        cmocka_unit_test(cookies_of_sessions),
        cmocka_unit_test(hashes_of_sessions),
        cmocka_unit_test(failed_tries_are_counted_by_address),
        cmocka_unit_test(many_addresses_do_not_flood_the_log),
    };

    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
