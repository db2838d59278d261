/* The records that the daemon, runners and ranks read of each other: control messages, job descriptors, exit records,
 * fields. The first byte says which. */
#include "tests/fuzz/fuzz.h"

#include "tasks/proto/control.h"
#include "tasks/proto/exitrec.h"
#include "tasks/proto/fields.h"
#include "tests/unit/jobdesc_whole.h"

static void control(const uint8_t *data, size_t size)
{
    struct control_message message, again;
    struct error err = {.code = "", .text = ""};
    char text[CONTROL_MESSAGE_MAX];
    size_t n;

    if (control_parse(data, size, &message, &err) < 0) {
        must_tell(&err);
        return;
    }
    MUST(job_name_valid(message.job));
    n = control_build(text, message.job, message.what);
    MUST(n < sizeof text);
    MUST(control_parse(text, n, &again, &err) == 0);
    MUST(strcmp(again.job, message.job) == 0 && again.what == message.what);
}

static void descriptor(json_t *json)
{
    struct error err = {.code = "", .text = ""};
    struct jobdesc *desc = jobdesc_parse(json, &err), *again;
    json_t *built;
    char *text;

    if (desc == NULL) {
        must_tell(&err);
        return;
    }
    text = jobdesc_whole(desc);
    built = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    MUST(built != NULL);
    free(text);
    again = jobdesc_parse(built, &err);
    MUST(again != NULL);
    MUST(again->ntasks == desc->ntasks && strcmp(again->job, desc->job) == 0);
    for (size_t i = 0; i < desc->ntasks; i++)
        MUST(desc->tasks[i].dir[0] == '/' && strchr(desc->tasks[i].id, '/') == NULL);
    jobdesc_free(again);
    json_decref(built);
    jobdesc_free(desc);
}

static void record(json_t *json)
{
    struct error err = {.code = "", .text = ""};
    struct exitrec rec;

    if (exitrec_parse(json, &rec, &err) < 0)
        must_tell(&err);
    else
        MUST(attempt_outcome_name(rec.end.outcome) != NULL);
}

static void fields(json_t *json)
{
    struct error err = {.code = "", .text = ""};
    struct field_set set;

    if (field_set_parse(json, "/fields", &set, &err) < 0) {
        must_tell(&err);
        return;
    }
    MUST(set.count > 0 && set.count <= FIELDS_MAX);
    for (int i = 0; i < set.count; i++) {
        MUST(field_set_find(&set, set.field[i].name) == i);
        MUST(set.field[i].bytes <= FIELD_BYTES_MAX && set.field[i].bytes > 0);
    }
    field_set_fini(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[])(json_t *json) = {descriptor, record, fields};
    json_t *json;

    if (size == 0)
        return 0;
    if (data[0] % 4 == 3) {
        control(data + 1, size - 1);
        return 0;
    }
    json = json_loadb((const char *)data + 1, size - 1, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(json))
        kinds[data[0] % 4](json);
    json_decref(json);
    return 0;
}
