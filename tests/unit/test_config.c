/* The daemon's configuration: what a file says, what is usual where it says nothing, and the directories that are
 * made. */
#include "daemon/config.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_MS (INT64_C(86400) * 1000)

static char dir[64];

/* The runner is not where the program of this test is. */
int access(const char *path, int mode)
{
    const char *name = strrchr(path, '/');

    return name != NULL && strcmp(name, "/stretto-run") == 0 ? 0 : faccessat(AT_FDCWD, path, mode, 0);
}

static int make_dir(void **state)
{
    char *real;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL || (real = realpath(dir, NULL)) == NULL)
        return -1;
    snprintf(dir, sizeof dir, "%s", real);
    free(real);
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    return 0;
}

static int remove_dir(void **state)
{
    char rm[128];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static const char *below(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned n;
    char *path = paths[n++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", dir, name);
    return path;
}

static int read_text(struct config *config, const char *text, struct error *err)
{
    FILE *file = fopen(below("config.json"), "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    *err = (struct error){.code = "accepted"};
    return config_read(config, below("config.json"), err);
}

static void must_read(struct config *config, const char *text)
{
    struct error err;

    if (read_text(config, text, &err) < 0)
        fail_msg("%s: %s", text, err.text);
}

static void must_complete(struct config *config)
{
    struct error err;

    if (config_complete(config, &err) < 0)
        fail_msg("%s (%s)", err.text, err.code);
}

static unsigned mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    return st.st_mode & 07777;
}

static void every_key_is_read(void **state)
{
    const struct group *group = getgrgid(getegid());
    struct config config;
    char text[1000];

    assert_non_null(group);
    snprintf(text, sizeof text, "{\"state_dir\": \"/s\", \"run_dir\": \"/r\", \"listen\": [\"unix:/a\", \"tcp:h:1\"], \"tls_certificate\": \"/c\", "
             "\"tls_key\": \"/k\", \"host_names\": [\"one\", \"two\"], \"trusted_groups\": [\"%s\"], \"python\": \"/p\", \"log_level\": \"debug\", "
             "\"log_to\": \"/l\", \"log_format\": \"json\", \"keep_events\": \"2d\", \"keep_output\": \"failed\", \"keep_output_for\": \"3d\", "
             "\"archive_after\": \"4m\", \"heartbeat\": \"5s\", \"max_connections\": 9, \"stream_interface\": \"hsn0\", "
             "\"adapters\": {\"local\": {\"slots\": 8}}, \"plugin_dir\": \"/g\", \"allow_network_state\": true}", group->gr_name);
    config_init(&config);
    must_read(&config, text);
    assert_string_equal(config.state_dir, "/s");
    assert_string_equal(config.run_dir, "/r");
    assert_int_equal(config.n_listen, 2);
    assert_string_equal(config.listen[0], "unix:/a");
    assert_string_equal(config.listen[1], "tcp:h:1");
    assert_string_equal(config.tls_certificate, "/c");
    assert_string_equal(config.tls_key, "/k");
    assert_string_equal(config.host_names[0], "one");
    assert_string_equal(config.host_names[1], "two");
    assert_null(config.host_names[2]);
    assert_true(config.n_trusted_groups == 1 && config.trusted_groups[0] == group->gr_gid);
    assert_string_equal(config.python, "/p");
    assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
    assert_string_equal(config.log_to, "/l");
    assert_int_equal(config.log_format, 1);
    assert_int_equal(config.keep_events_ms, 2 * DAY_MS);
    assert_int_equal(config.keep_output, RETAIN_FAILED);
    assert_int_equal(config.keep_output_for_ms, 3 * DAY_MS);
    assert_int_equal(config.archive_after_ms, 240000);
    assert_int_equal(config.heartbeat_ms, 5000);
    assert_int_equal(config.max_connections, 9);
    assert_string_equal(config.stream_interface, "hsn0");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(config.adapters, "local"), "slots")), 8);
    assert_string_equal(config.plugin_dir, "/g");
    assert_true(config.plugin_dir_chosen && config.allow_network_state);

    must_read(&config, "{}");
    assert_int_equal(config.n_listen, 2);
    assert_string_equal(config.host_names[1], "two");
    assert_true(config.n_trusted_groups == 1 && json_object_size(config.adapters) == 1);
    must_read(&config, "{\"trusted_groups\": []}");
    assert_int_equal(config.n_trusted_groups, 0);
    must_read(&config, "{\"listen\": [\"unix:/b\"], \"host_names\": [], \"log_level\": \"error\", \"run_dir\": \"/q\"}"); /* replaces, and leaves the rest */
    assert_int_equal(config.n_listen, 1);
    assert_string_equal(config.listen[0], "unix:/b");
    assert_null(config.host_names[0]);
    assert_int_equal(config.log_level, LOG_LEVEL_ERROR);
    assert_string_equal(config.run_dir, "/q");
    assert_string_equal(config.state_dir, "/s");
    assert_int_equal(config.keep_output, RETAIN_FAILED);
    config_fini(&config);
}

static void what_is_not_said_is_usual(void **state)
{
    struct config config;

    config_init(&config);
    assert_true(config.log_level == LOG_LEVEL_INFO && config.keep_events_ms == 30 * DAY_MS &&
                config.keep_output_for_ms == 30 * DAY_MS);
    assert_true(config.archive_after_ms == 600000 && config.heartbeat_ms == 15000 && config.max_connections == 0);
    assert_true(config.keep_output == RETAIN_ALL && !config.allow_network_state);
    setenv("XDG_STATE_HOME", dir, 1);
    setenv("HOME", "/nowhere", 1);
    must_complete(&config);
    assert_string_equal(config.state_dir, below("stretto"));
    assert_string_equal(config.run_dir, below("stretto/run"));
    assert_int_equal(mode_of(below("stretto")), 0700);
    assert_int_equal(mode_of(below("stretto/run")), 0700);
    assert_int_equal(config.n_listen, 1);
    assert_int_equal(strncmp(config.listen[0], "unix:", 5), 0);
    assert_string_equal(config.listen[0] + 5, below("stretto/stretto.sock"));
    assert_string_equal(config.plugin_dir, STRETTO_PLUGINDIR);
    assert_string_equal(config.runner, STRETTO_BINDIR "/stretto-run");
    assert_string_equal(config.examples_dir, STRETTO_EXAMPLEDIR);
    assert_string_equal(config.python_path, STRETTO_PYTHONDIR);
    assert_false(config.plugin_dir_chosen);
    config_fini(&config);

    for (int relative = 0; relative < 2; relative++) {
        config_init(&config);
        unsetenv("XDG_STATE_HOME");
        if (relative)
            setenv("XDG_STATE_HOME", "state", 1); /* which means nothing, as the specification has it */
        setenv("HOME", dir, 1);
        must_complete(&config);
        assert_string_equal(config.state_dir, below(".local/state/stretto"));
        config_fini(&config);
    }
    for (int relative = 0; relative < 2; relative++) {
        struct error err;

        config_init(&config);
        unsetenv("HOME");
        if (relative)
            setenv("HOME", "home", 1);
        assert_int_equal(config_complete(&config, &err), -1);
        assert_string_equal(err.code, "config_value");
        config_fini(&config);
    }
}

static void mistakes_are_named_with_their_places(void **state)
{
    static const struct {
        const char *text, *pointer; /* pointer NULL: it is accepted */
    } cases[] = {
        {"{\"keep_event\": \"1d\"}", "/keep_event"},
        {"{\"state_dir\": 7}", "/state_dir"},
        {"{\"run_dir\": []}", "/run_dir"},
        {"{\"listen\": []}", "/listen"},
        {"{\"listen\": [7]}", "/listen/0"},
        {"{\"host_names\": \"a\"}", "/host_names"},
        {"{\"trusted_groups\": [\"there is no such group\"]}", "/trusted_groups/0"},
        {"{\"log_level\": \"warn\"}", "/log_level"},
        {"{\"log_to\": \"log.txt\"}", "/log_to"},
        {"{\"log_to\": \"stderr\"}", NULL},
        {"{\"log_format\": \"xml\"}", "/log_format"},
        {"{\"keep_output\": \"some\"}", "/keep_output"},
        {"{\"keep_events\": \"soon\"}", "/keep_events"},
        {"{\"keep_events\": 3}", "/keep_events"},
        {"{\"keep_events\": \"999ms\"}", "/keep_events"},
        {"{\"keep_events\": \"1s\"}", NULL},
        {"{\"keep_output_for\": \"999ms\"}", "/keep_output_for"},
        {"{\"keep_output_for\": \"1s\"}", NULL},
        {"{\"archive_after\": \"0s\"}", NULL},
        {"{\"heartbeat\": \"999ms\"}", "/heartbeat"},
        {"{\"heartbeat\": \"1s\"}", NULL},
        {"{\"max_connections\": 7}", "/max_connections"},
        {"{\"max_connections\": 8}", NULL},
        {"{\"max_connections\": 100000}", NULL},
        {"{\"max_connections\": 100001}", "/max_connections"},
        {"{\"adapters\": []}", "/adapters"},
        {"{\"allow_network_state\": 1}", "/allow_network_state"},
        {"{\"plugin_dir\": 1}", "/plugin_dir"},
        {"{\"stream_interface\": 1}", "/stream_interface"},
        {"{\"python\": 1}", "/python"},
        {"{\"tls_certificate\": 1}", "/tls_certificate"},
        {"{\"tls_key\": 1}", "/tls_key"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config config;
        struct error err;
        int rc;

        config_init(&config);
        rc = read_text(&config, cases[i].text, &err);
        if ((rc == 0) != (cases[i].pointer == NULL) || (rc < 0 && strcmp(err.pointer, cases[i].pointer) != 0))
            fail_msg("%s: %s at %s (%s)", cases[i].text, err.code, err.pointer, err.text);
        config_fini(&config);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_key_is_read),
        TEST(what_is_not_said_is_usual),
        TEST(mistakes_are_named_with_their_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
