/* The template for adapters keeps the contract as far as it goes. */
#include "tests/unit/adapter_harness.h"

#include <string.h>

extern const struct adapter_ops adapter_template;

static void the_template_keeps_the_contract(void **state)
{
    struct harness h;
    struct harness_job job;
    struct error err;

    assert_null(adapter_registry_find("template")); /* it is no batch system */
    assert_int_equal(adapter_template.abi, ADAPTER_ABI);
    harness_open(&h, &adapter_template, "{}");
    harness_job(&h, &job, "true", 0, 1);
    assert_int_equal(adapter_template.check(h.adapter, &job.job.resources, &err), 0);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_UNKNOWN);
    harness_submit_ok(&h, &job);
    harness_submit_ok(&h, &job);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_QUEUED);
    assert_int_equal(harness_signal(&h, &job, 10), ADAPTER_UNSURE);
    harness_cancel(&h, &job);
    assert_int_equal(harness_wait_ended(&h, &job).state, ADAPTER_JOB_ENDED);
    assert_int_equal(h.pokes, 1);
    job.job.resources.gpus = 1;
    assert_int_equal(adapter_template.check(h.adapter, &job.job.resources, &err), -1);
    assert_string_equal(err.pointer, "/gpus");
    harness_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_template_keeps_the_contract)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
