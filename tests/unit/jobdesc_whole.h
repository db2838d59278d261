/* Writes a descriptor, parsed or put together by hand, as one text. The text is to be freed. */
#ifndef TESTS_UNIT_JOBDESC_WHOLE_H
#define TESTS_UNIT_JOBDESC_WHOLE_H
#include "tasks/proto/jobdesc_text.h"

static inline char *jobdesc_whole(const struct jobdesc *desc)
{
    struct jobdesc_text text;

    jobdesc_begin(&text, desc);
    for (size_t i = 0; i < desc->ntasks; i++) {
        const char *name;
        json_t *value;
        size_t n;

        jobdesc_task_begin(&text, &desc->tasks[i]);
        json_array_foreach (desc->tasks[i].argv, n, value)
            jobdesc_arg(&text, json_string_value(value));
        json_object_foreach ((json_t *)desc->tasks[i].env, name, value)
            jobdesc_env(&text, name, json_string_value(value));
        jobdesc_task_end(&text);
    }
    return jobdesc_end(&text);
}

#endif
