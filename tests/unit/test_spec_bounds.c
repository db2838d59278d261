/* What the numbers of a spec may be, at their least and their most, and that each arrives where it is used. */
#include "tests/unit/spec_cases.h"

/* The least and the most that a number may be. */
static void numbers_have_their_bounds(void **state)
{
    static const struct refusal of_members[] = {
        {"\"retries\": 0", NULL, ""},
        {"\"retries\": 1000", NULL, ""},
        {"\"retries\": 1001", "spec_impossible_value", "/members/retries"},
        {"\"retries\": -1", "spec_impossible_value", "/members/retries"},
        {"\"silence\": \"1s\"", NULL, ""},
        {"\"silence\": \"999ms\"", "spec_impossible_value", "/members/silence"},
        {"\"resources\": {\"nodes\": 1, \"tasks\": 1, \"cpus_per_task\": 1, \"gpus\": 0, \"walltime\": \"1s\"}", NULL, ""},
        {"\"resources\": {\"nodes\": 1000000, \"tasks\": 100000, \"cpus_per_task\": 10000, \"gpus\": 10000}", NULL, ""},
        {"\"resources\": {\"nodes\": 0}", "spec_impossible_value", "/members/resources/nodes"},
        {"\"resources\": {\"tasks\": 0}", "spec_impossible_value", "/members/resources/tasks"},
        {"\"resources\": {\"cpus_per_task\": 0}", "spec_impossible_value", "/members/resources/cpus_per_task"},
        {"\"resources\": {\"gpus\": -1}", "spec_impossible_value", "/members/resources/gpus"},
        {"\"resources\": {\"nodes\": 1000001}", "spec_impossible_value", "/members/resources/nodes"},
        {"\"resources\": {\"tasks\": 100001}", "spec_impossible_value", "/members/resources/tasks"},
        {"\"resources\": {\"cpus_per_task\": 10001}", "spec_impossible_value", "/members/resources/cpus_per_task"},
        {"\"resources\": {\"gpus\": 10001}", "spec_impossible_value", "/members/resources/gpus"},
        {"\"resources\": {\"walltime\": \"999ms\"}", "spec_impossible_value", "/members/resources/walltime"},
        {"\"resources\": {\"extra\": [7]}", "spec_wrong_type", "/members/resources/extra/0"},
        {"\"resources\": {\"extra\": []}", NULL, ""},
        {"\"resources\": {\"launcher\": \"\"}", "spec_impossible_value", "/members/resources/launcher"},
        {"\"resources\": {\"launcher\": [\"\"]}", "spec_impossible_value", "/members/resources/launcher/0"},
        {"\"resources\": {\"launcher\": [\"copies\"]}", "spec_impossible_value", "/members/resources/launcher/0"},
        {"\"resources\": {\"launcher\": [\"x\", \"\", \"copies\"]}", NULL, ""},
        {"\"resources\": {\"launcher\": [\"x\", \"{nodes}{tasks}{cpus_per_task}{gpus}{hosts}{hostfile}{master_addr}{master_port}{a}\"]}", NULL, ""},
        {"\"resources\": {\"launcher\": [\"x\", \"{node}\"]}", "spec_unfilled_placeholder", "/members/resources/launcher/1"},
        {"\"resources\": {\"launcher\": \"copies\", \"nodes\": 2, \"tasks\": 1}", "spec_impossible_value", "/members/resources/tasks"},
        {"\"resources\": {\"launcher\": \"copies\", \"nodes\": 2, \"tasks\": 2}", NULL, ""},
        {"\"resources\": {\"launcher\": \"srun\", \"nodes\": 2, \"tasks\": 1}", NULL, ""},
        {"\"resources\": {\"walltime\": \"1m\"}, \"checkpoint\": {\"before\": \"1ms\", \"keep\": 1, \"attempts\": 1}", NULL, ""},
        {"\"checkpoint\": {\"keep\": 0}", "spec_impossible_value", "/members/checkpoint/keep"},
        {"\"checkpoint\": {\"attempts\": 0}", "spec_impossible_value", "/members/checkpoint/attempts"},
        {"\"checkpoint\": {\"attempts\": 1001}", "spec_impossible_value", "/members/checkpoint/attempts"},
        {"\"output\": \"merged\"", NULL, ""},
        {"\"output\": \"both\"", "spec_impossible_value", "/members/output"},
        {"\"umask\": \"0027\"", NULL, ""},
        {"\"umask\": \"0700\"", "spec_impossible_value", "/members/umask"},
        {"\"env\": {\"A\": 1}", "spec_wrong_type", "/members/env/A"},
        {"\"env\": {\"STRETTO_X\": \"1\"}", "spec_impossible_value", "/members/env/STRETTO_X"},
        {"\"env\": {\"A\": \"{until}\"}", "spec_unfilled_placeholder", "/members/env/A"}, /* only members that pause know it */
    };
    static const struct refusal of_specs[] = {
        {"\"share\": 1", NULL, ""},
        {"\"share\": 1000", NULL, ""},
        {"\"share\": 0", "spec_impossible_value", "/share"},
        {"\"share\": 1001", "spec_impossible_value", "/share"},
        {"\"width\": 1000000", NULL, ""},
        {"\"width\": 1000001", "spec_impossible_value", "/width"},
        {"\"width\": 0", "spec_impossible_value", "/width"},
        {"\"pack\": 10000", NULL, ""},
        {"\"pack\": 10001", "spec_impossible_value", "/pack"},
        {"\"pack\": 0", "spec_impossible_value", "/pack"},
        {"\"max_failures\": 1", NULL, ""},
        {"\"start\": 7", "spec_wrong_type", "/start"},
        {"\"start\": \"last\"", "spec_impossible_value", "/start"},
        {"\"start\": \"training-first\"", NULL, ""},
        {"\"follow_up\": []", "spec_wrong_type", "/follow_up"},
        {"\"follow_up\": {\"max\": 1}", NULL, ""},
        {"\"follow_up\": {\"max\": 10000}", NULL, ""},
        {"\"follow_up\": {\"max\": 0}", "spec_impossible_value", "/follow_up/max"},
        {"\"follow_up\": {\"max\": 10001}", "spec_impossible_value", "/follow_up/max"},
        {"\"allocation\": {\"nodes\": 1, \"count\": 1, \"cpus\": 1, \"gpus\": 0, \"idle\": \"0s\"}", NULL, ""},
        {"\"allocation\": {\"nodes\": 0}", "spec_impossible_value", "/allocation/nodes"},
        {"\"allocation\": {\"nodes\": 100001}", "spec_impossible_value", "/allocation/nodes"},
        {"\"allocation\": {\"count\": 0}", "spec_impossible_value", "/allocation/count"},
        {"\"allocation\": {\"cpus\": 0}", "spec_impossible_value", "/allocation/cpus"},
        {"\"allocation\": {\"cpus\": 10001}", "spec_impossible_value", "/allocation/cpus"},
        {"\"allocation\": {\"gpus\": 10001}", "spec_impossible_value", "/allocation/gpus"},
        {"\"allocation\": {\"walltime\": \"999ms\"}", "spec_impossible_value", "/allocation/walltime"},
        {"\"allocation\": {\"extra\": [7]}", "spec_wrong_type", "/allocation/extra/0"},
        {"\"allocation\": {\"launcher\": []}", "spec_impossible_value", "/allocation/launcher"},
        {"\"allocation\": {\"node\": 1}", "spec_unknown_key", "/allocation/node"},
    };
    static const struct refusal of_trainings[] = {
        {"\"retries\": 1000", NULL, ""},
        {"\"retries\": 1001", "spec_impossible_value", "/training/retries"},
        {"\"ranks\": 0", "spec_impossible_value", "/training/ranks"},
        {"\"ranks\": 1025", "spec_impossible_value", "/training/ranks"},
        {"\"steps\": 0", "spec_impossible_value", "/training/steps"},
        {"\"steps\": 2147483647", NULL, ""},
        {"\"steps\": 2147483648", "spec_impossible_value", "/training/steps"},
        {"\"checkpoint\": {\"retain\": 0}", NULL, ""},
        {"\"checkpoint\": {\"retain\": -1}", "spec_impossible_value", "/training/checkpoint/retain"},
        {"\"checkpoint\": {\"exact\": 1}", "spec_wrong_type", "/training/checkpoint/exact"},
        {"\"checkpoint\": {\"every\": \"1ms\"}", NULL, ""},
        {"\"command\": [\"{a}\"]", "spec_unfilled_placeholder", "/training/command/0"},
        {"\"command\": [\"x\", \"{python}\"]", "spec_unfilled_placeholder", "/training/command/1"},
        {"\"resources\": {\"launcher\": \"copies\"}", "spec_impossible_value", "/training/resources/launcher"},
        {"\"failure_after\": \"1s\"", NULL, ""},
        {"\"failure_after\": \"30d\"", NULL, ""},
        {"\"output\": \"merged\"", NULL, ""},
    };
    char name[300], top[100];
    struct error err;
    struct spec *spec;
    json_t *json;

    JUDGED("%s", true, of_members);
    JUDGED("%s", false, of_specs);
    JUDGED("\"training\": {\"command\": [\"t\"], \"fields\": {\"u\": {\"dtype\": \"float32\", \"shape\": [4]}}, %s}", false, of_trainings);
    assert_null(parse("\"resources\": {\"launcher\": \"copies\", \"nodes\": 2, \"tasks\": 2}", "\"pack\": 2", &err));
    assert_string_equal(err.pointer, "/pack"); /* since each needs all CPUs of its nodes */
    spec = accepted("\"resources\": {\"launcher\": \"copies\", \"nodes\": 1, \"tasks\": 2}", "\"pack\": 2");
    spec_destroy(spec);
    spec = accepted("\"resources\": {\"launcher\": \"copies\", \"nodes\": 2, \"tasks\": 2}", "\"pack\": 1");
    spec_destroy(spec);
    assert_null(parse("\"resources\": {\"memory\": \"3GiB\"}", "\"pack\": 2, \"allocation\": {\"memory\": \"3GiB\"}", &err));
    assert_string_equal(err.pointer, "/pack"); /* one has room, two have not */

    for (int n = 200; n <= 201; n++) {
        memset(name, 'x', 300);
        name[1] = ' ';
        name[n] = '\0';
        json = json_pack("{s:s, s:{s:[s]}}", "name", name, "members", "command", "true");
        spec = spec_parse(json, NULL, &err);
        assert_int_equal(spec != NULL, n == 200);
        if (spec != NULL) {
            assert_string_equal(spec->adapter, "local");
            assert_int_equal(params_count(spec->params), 1);
        }
        spec_destroy(spec);
        json_decref(json);
    }
    for (int i = 0; i < 3; i++) {
        static const char *const rules[] = {"asha", "asha-stop", "median"};

        snprintf(top, sizeof top, "\"early_stopping\": {\"rule\": \"%s\", \"metric\": \"l\", \"rungs\": {\"max\": 9}}", rules[i]);
        spec = parse("\"env\": {\"UNTIL\": \"{until}\"}", top, &err);
        assert_int_equal(spec != NULL, i == 0);
        spec_destroy(spec);
    }
}

/* What is asked for is what the adapter gets. */
static void words_and_numbers_arrive(void **state)
{
    struct spec *spec = accepted("\"resources\": {\"nodes\": 3, \"tasks\": 7, \"cpus_per_task\": 2, \"gpus\": 5, \"memory\": \"6KiB\", \"walltime\": \"8s\", "
                                 "\"queue\": \"q\", \"account\": \"a\", \"launcher\": [\"mpi\", \"-n\"], \"extra\": [\"e\", \"f\"], \"tmpdir\": true}, "
                                 "\"output\": \"merged\", \"umask\": \"0022\", \"retries\": 9", "\"share\": 4, \"follow_up\": {\"auto\": true, \"max\": 6}");
    const struct adapter_resources *r = &spec->members.resources;

    assert_true(r->nodes == 3 && r->tasks == 7 && r->cpus_per_task == 2 && r->gpus == 5 && r->memory == 6144 && r->walltime_ms == 8000);
    assert_string_equal(r->queue, "q");
    assert_string_equal(r->account, "a");
    assert_string_equal(r->launcher, "mpi");
    assert_int_equal(json_array_size(r->launch), 2);
    assert_string_equal(json_string_value(json_array_get(r->extra, 1)), "f");
    assert_true(spec->members.tmpdir && spec->members.merged && spec->retries == 9 && spec->share == 4);
    assert_string_equal(spec->members.umask, "0022");
    assert_true(spec->follows_up && spec->follow_ups == 6 && !spec_starts_copies(&spec->members));
    spec_destroy(spec);

    spec = accepted("\"output\": \"split\", \"resources\": {\"launcher\": \"copies\", \"nodes\": 2, \"tasks\": 2}", "");
    assert_true(!spec->members.merged && spec->members.umask == NULL && !spec->members.tmpdir && spec_starts_copies(&spec->members));
    assert_null(spec->members.resources.launch);
    spec_destroy(spec);

    spec = accepted("", "\"allocation\": {\"extra\": [\"e\"], \"idle\": \"3s\", \"gpus\": 2}");
    r = &spec->allocation.resources;
    assert_string_equal(json_string_value(json_array_get(r->extra, 0)), "e");
    assert_true(r->nodes == 1 && r->tasks == 1 && !r->each_node && r->gpus == 2 && spec->allocation.idle_ms == 3000);
    spec_destroy(spec);
    spec = accepted("", "\"allocation\": {\"nodes\": 2}");
    assert_true(spec->allocation.resources.each_node && spec->allocation.resources.gpus == 0);
    spec_destroy(spec);
    spec = accepted("", "\"refill\": true, \"pack\": 2");
    assert_int_equal(spec->allocation.idle_ms, 60000);
    spec_destroy(spec);

    spec = accepted("", TRAINING ", \"checkpoint\": {}, \"output\": \"merged\"}");
    assert_true(spec->training_checkpoint.retain == -1 && spec->training_checkpoint.exact && spec->training.merged);
    spec_destroy(spec);
    spec = accepted("", TRAINING ", \"checkpoint\": {\"retain\": 12, \"exact\": false}}");
    assert_true(spec->training_checkpoint.retain == 12 && !spec->training_checkpoint.exact && !spec->training.merged);
    spec_destroy(spec);
}

/* A member that is warned needs as long before the warning as after it, and at most half of what it ever has. */
static void a_member_needs_so_much_time(void **state)
{
    struct spec *spec = accepted("\"resources\": {\"walltime\": \"100s\"}, \"checkpoint\": {\"before\": \"10s\"}", "");

    assert_int_equal(spec_least_time_ms(spec), 20000);
    assert_int_equal(spec_least_time_of(spec, 20000), 15000);
    assert_int_equal(spec_least_time_of(spec, 30000), 20000);
    assert_int_equal(spec_least_time_of(spec, 29000), 19500);
    spec_destroy(spec);
    spec = accepted("\"resources\": {\"walltime\": \"100s\"}, \"checkpoint\": {}", "");
    assert_int_equal(spec_least_time_ms(spec), 100000);
    assert_int_equal(spec_least_time_of(spec, 7), 7);
    spec_destroy(spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_their_bounds),
        cmocka_unit_test(words_and_numbers_arrive),
        cmocka_unit_test(a_member_needs_so_much_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
