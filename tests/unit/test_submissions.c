/* What POST /v1/ensembles answers before a spec gets to the engine. */
#include "api/handlers.h"
#include "api/parameter_file.h"
#include "common/log.h"
#include "daemon/engine/internal.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/open_store.h"
#include "tests/unit/virtual_uv.h"

static struct engine engine = {.ports.rows_dir = "/nowhere"};

static int set_up(void **state)
{
    if (open_store(state) != 0)
        return -1;
    fake_config = (struct api_config){.store = store, .engine = &engine};
    return 0;
}

static int tear_down(void **state)
{
    must(store_commit(store, &err));
    return close_store(state);
}

static void is_answered(const char *spec, int wanted, const char *code)
{
    int status;
    const json_t *problem = ask(ensembles_post, &(struct asked){.body = spec}, &status);

    assert_string_equal(json_string_value(json_object_get(problem, "code")), code);
    assert_int_equal(status, wanted);
}

static void let_go(void *arg, struct parameter_file *file, struct rows *rows, const struct error *error)
{
    assert_null(rows);
    ++*(int *)arg;
    parameter_file_drop(file);
}

/* Reading them leaves workers for other files, and whoever comes too early is told to come again. */
static void few_parameter_files_are_read_at_once(void **state)
{
    static const char spec[] =
        "{\"members\": {\"command\": [\"true\"], \"parameters\": {\"file\": \"/nowhere/x.csv\"}}}";
    int read = 0;

    virtual_uv_hold_workers();
    for (int i = 0; i < 2; i++)
        assert_int_equal(parameter_file_read(NULL, "/nowhere/x.csv", let_go, &read, &err), 0);
    is_answered(spec, 503, "busy");
    assert_int_equal(read, 0);
    virtual_uv_let_workers_go();
    assert_int_equal(read, 2);
    is_answered(spec, 422, "spec_parameter_file");
}

static void a_spec_is_an_object(void **state)
{
    is_answered("[1]", 422, "spec_wrong_type");
    is_answered("", 400, "json_malformed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(few_parameter_files_are_read_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_spec_is_an_object, set_up, tear_down),
    };

    log_init("submissions", LOG_LEVEL_NONE);
    virtual_uv_begin(1000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
