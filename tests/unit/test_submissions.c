/* What POSTs answer before they get to the engine: to specs, and to keys that came before. */
#include "api/handlers.h"
#include "api/idempotency.h"
#include "api/parameter_file.h"
#include "common/log.h"
#include "daemon/engine/core.h"
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

static const char *call;

static void answer_once(struct request *r)
{
    struct idempotency key;

    if (!idempotency_answered(r, call, &key, NULL))
        idempotency_reply(r, &key, 202, json_pack("{s:s}", "code", "the first answer"));
}

/* A key stands for one call on one thing, and no other thing is ever answered as that one was. */
static void a_key_is_of_one_thing(void **state)
{
    static const struct {
        void (*handler)(struct request *r);
        const char *call;
    } cases[] = {
        {ensemble_follow_up_post, "POST /v1/ensembles/1/follow-up"},
        {ensemble_resubmit_post, "POST /v1/ensembles/1/resubmit"},
        {member_resubmit_post, "POST /v1/ensembles/1/members/2/resubmit"},
        {suggestions_post, "POST /v1/ensembles/1/suggestions"},
        {training_resubmit_post, "POST /v1/trainings/1/resubmit"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char key[] = {(char)('a' + i), '\0'};
        struct asked asked = {.ids = {1, 2}, .headers = {{"Idempotency-Key", key}}};
        int status;

        call = cases[i].call;
        ask(answer_once, &asked, &status);
        assert_int_equal(status, 202);
        ask(cases[i].handler, &asked, &status);
        assert_int_equal(status, 202);
        for (int id = 0; id < (cases[i].handler == member_resubmit_post ? 2 : 1); id++) {
            asked.ids[id]++;
            ask(cases[i].handler, &asked, &status);
            assert_int_equal(status, 409);
            asked.ids[id]--;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(few_parameter_files_are_read_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_spec_is_an_object, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_key_is_of_one_thing, set_up, tear_down),
    };

    log_init("submissions", LOG_LEVEL_NONE);
    virtual_uv_begin(1000);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
