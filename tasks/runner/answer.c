#include "tasks/runner/answer.h"

#include "common/jobfd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool answer_jobfd(const struct job *job, const struct task *tasks, size_t n)
{
    json_t *records;
    struct error err;
    char *text;
    int rc;

    if (job->jobfd < 0 || getppid() != job->daemon)
        return false;
    records = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(records, exitrec_json(&tasks[i].rec));
    text = json_dumps(records, JSON_COMPACT);
    json_decref(records);
    rc = text != NULL ? jobfd_answer(job->jobfd, text, strlen(text), &err) : -1;
    free(text);
    return rc == 0;
}
