/* The addresses of daemons. */
#include "cli/url.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_url(void **state)
{
    struct url url;
    struct error err;

    assert_int_equal(cli_url_parse(&url, "unix:/run/s.sock", &err), 0);
    assert_string_equal(url.socket, "/run/s.sock");
    assert_true(url.is_private);
    url_fini(&url);

    assert_int_equal(cli_url_parse(&url, "http://127.0.0.1:8080/", &err), 0);
    assert_null(url.socket);
    assert_string_equal(url.base, "http://127.0.0.1:8080");
    assert_true(url.is_private);
    url_fini(&url);

    assert_int_equal(cli_url_parse(&url, "http://127.0.0.1.example.org", &err), 0);
    assert_false(url.is_private);
    url_fini(&url);

    /* whose host is not the one that it begins with */
    assert_int_equal(cli_url_parse(&url, "http://localhost:x@example.org", &err), -1);
    assert_int_equal(cli_url_parse(&url, "https://127.0.0.1@example.org", &err), -1);

    assert_int_equal(cli_url_parse(&url, "https://[::1]:8080/stretto/", &err), 0);
    assert_string_equal(url.base, "https://[::1]:8080/stretto");
    url_fini(&url);

    /* no host, no such port, or more than these */
    static const char *const wrong[] = {"http://", "https:///", "http://:80", "http:///path", "http://[]", "http://[::1",
                                        "http://h:x", "http://h:99999", "http://h:80x",
                                        "http://h:99999999999999999999", "http://h?q", "http://h#f", "http://a b"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(cli_url_parse(&url, wrong[i], &err), -1);
        assert_string_equal(err.code, URL_BAD);
        assert_non_null(strstr(err.text, wrong[i]));
    }

    assert_int_equal(cli_url_parse(&url, "unix:relative", &err), -1);
    assert_int_equal(cli_url_parse(&url, "ftp://x", &err), -1);

    setenv("XDG_STATE_HOME", "/x", 1);
    assert_int_equal(cli_url_parse(&url, NULL, &err), 0);
    assert_string_equal(url.socket, "/x/stretto/stretto.sock");
    url_fini(&url);
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", "/h", 1);
    assert_int_equal(cli_url_parse(&url, "", &err), 0);
    assert_string_equal(url.socket, "/h/.local/state/stretto/stretto.sock");
    url_fini(&url);
}

/* Where a token may be sent, and where an ensemble's paths mean this machine's. */
static void test_url_is_near(void **state)
{
    static const struct {
        const char *text, *base;
        bool is_local, is_private;
    } urls[] = {
        {"http://localhost", "http://localhost", true, true},
        {"http://LocalHost:8080///", "http://LocalHost:8080", true, true},
        {"http://127.0.0.1:1", "http://127.0.0.1:1", true, true},
        {"http://[::1]/a/b/", "http://[::1]/a/b", true, true},
        {"https://localhost", "https://localhost", true, true},
        {"https://example.org:1/x", "https://example.org:1/x", false, true},
        {"http://example.org", "http://example.org", false, false},
        {"http://127.0.0.2", "http://127.0.0.2", false, false},
        {"http://localhost.example.org/", "http://localhost.example.org", false, false},
        {"http://example.org/localhost", "http://example.org/localhost", false, false},
        {"http://h:65535", "http://h:65535", false, false},
    };
    static const char *const wrong[] = {"", "localhost", "HTTP", "http:/h", "https:h", "http://user@h", "http://user:x@h", "http://h:65536", "http://:x@h",
                                        "http://h/?q=1", "http://h/#f", "unix:", "unix:./s", "file:///x", "http://h:-1"};
    char path[160];
    struct error err;
    struct url url;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        if (cli_url_parse(&url, urls[i].text, &err) < 0)
            fail_msg("%s: %s", urls[i].text, err.text);
        assert_null(url.socket);
        assert_string_equal(url.base, urls[i].base);
        if (url.is_local != urls[i].is_local || url.is_private != urls[i].is_private)
            fail_msg("%s", urls[i].text);
        url_fini(&url);
        assert_true(url.base == NULL && !url.is_local);
    }
    for (size_t i = 1; i < sizeof wrong / sizeof *wrong; i++) {
        if (cli_url_parse(&url, wrong[i], &err) == 0)
            fail_msg("%s was taken", wrong[i]);
        assert_string_equal(err.code, URL_BAD);
    }
    for (size_t n = 106; n < 110; n++) { /* of a socket's path, as long as the kernel takes one */
        snprintf(path, sizeof path, "unix:/%0*d", (int)n - 1, 0);
        assert_int_equal(cli_url_parse(&url, path, &err), n <= 107 ? 0 : -1);
        if (n <= 107) {
            assert_string_equal(url.socket, path + 5);
            assert_true(url.is_local && url.is_private);
            url_fini(&url);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_url_is_near),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
