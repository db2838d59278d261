#include "scheduler-adapters/slurmrestd.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTION_MAX (32 << 20)

struct ask {
    struct slurmrestd *a;
    char *method, *path, *body;
    size_t max;
    rest_cb *cb;
    void *arg;
};

/* "/slurm/v0.0.38/", of which the server may write the slashes as "\/". */
int slurmrestd_version_in(const char *text)
{
    int newest = 0;

    for (const char *at = strstr(text, "v0.0."); at != NULL; at = strstr(at + 1, "v0.0.")) {
        const char *before = at - 1;
        long version = strtol(at + 5, NULL, 10);

        if (at == text || *before != '/')
            continue;
        before -= before > text && before[-1] == '\\';
        if (before - text < 5 || strncmp(before - 5, "slurm", 5) != 0)
            continue;
        if (version >= SLURMRESTD_OLDEST && version <= SLURMRESTD_NEWEST && version > newest)
            newest = (int)version;
    }
    return newest;
}

static void described(void *arg, struct rest_result *result)
{
    struct slurmrestd *a = arg;
    char sentence[80];

    if (slurmrestd_check(a, result, &a->unknown) == 0) {
        a->version = slurmrestd_version_in(result->body);
        if (a->version == 0)
            error_set(&a->unknown, "batch_system_unsure", "slurmrestd offers none of the API versions v0.0.%d to v0.0.%d",
                      SLURMRESTD_OLDEST, SLURMRESTD_NEWEST);
    }
    if (a->version != 0) {
        snprintf(sentence, sizeof sentence, "slurmrestd is spoken to in its API version v0.0.%d", a->version);
        a->batch.host.log(a->batch.host.arg, ADAPTER_LOG_INFO, NULL, sentence);
    }
    batch_waited(&a->version_waiting);
    batch_idle(&a->batch);
}

void slurmrestd_version_ready(struct slurmrestd *a, void (*go)(void *arg), void *arg)
{
    if (a->rest == NULL)
        error_set(&a->unknown, "batch_system_unsure", "the setting adapters.slurmrestd.url does not say where slurmrestd is");
    else if (a->batch.closing)
        error_set(&a->unknown, "batch_system_unsure", "the daemon ends");
    if (a->version != 0 || a->rest == NULL || a->batch.closing) {
        go(arg);
        return;
    }
    if (!batch_wait(&a->version_waiting, go, arg))
        return;
    batch_busy(&a->batch);
    rest_ask(a->rest, &(struct rest_request){.method = "GET", .path = "/openapi/v3", .limit_ms = a->batch.timeout_ms, .max = DESCRIPTION_MAX},
             described, a);
}

static void ask_free(struct ask *ask)
{
    free(ask->method);
    free(ask->path);
    free(ask->body);
    free(ask);
}

static void answered(void *arg, struct rest_result *result)
{
    struct ask *ask = arg;
    struct slurmrestd *a = ask->a;

    if (result->status == 404 && result->body[0] != '{') /* another server, by now, without that version */
        a->version = 0;
    ask->cb(ask->arg, result);
    ask_free(ask);
    batch_idle(&a->batch);
}

static void not_asked(void *arg)
{
    struct ask *ask = arg;
    char nothing[1] = "";
    struct rest_result result = {.body = nothing};

    snprintf(result.why, sizeof result.why, "%.390s", ask->a->batch.closing ? "the daemon ends" : ask->a->unknown.text);
    answered(ask, &result);
}

static void ask_now(void *arg)
{
    struct ask *ask = arg;
    struct slurmrestd *a = ask->a;
    char path[200];

    if (a->version == 0 || a->batch.closing) {
        answers_call(a->batch.answers, not_asked, ask);
        return;
    }
    snprintf(path, sizeof path, "/slurm/v0.0.%d%s", a->version, ask->path);
    rest_ask(a->rest, &(struct rest_request){.method = ask->method, .path = path, .body = ask->body, .limit_ms = a->batch.timeout_ms,
                                             .max = ask->max}, answered, ask);
}

void slurmrestd_ask(struct slurmrestd *a, const char *method, const char *path, const char *body, size_t max, rest_cb *cb, void *arg)
{
    struct ask *ask = xcalloc(1, sizeof *ask);

    *ask = (struct ask){.a = a, .method = xstrdup(method), .path = xstrdup(path), .body = body != NULL ? xstrdup(body) : NULL,
                        .max = max, .cb = cb, .arg = arg};
    batch_busy(&a->batch);
    slurmrestd_version_ready(a, ask_now, ask);
}
