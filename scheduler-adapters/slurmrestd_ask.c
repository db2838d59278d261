#include "scheduler-adapters/slurmrestd.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTION_MAX (32 << 20)

struct ask {
    struct slurmrestd *a;
    const char *root;
    char *method, *path, *body;
    int64_t limit_ms;
    size_t max;
    rest_cb *cb;
    void *arg;
};

/* Returns the next "ROOT/v0.0.VERSION" after `at`, in which the server may write the slash as "\/"; NULL: there is
 * none. */
static const char *next_version(const char *text, const char *at, const char *root, long *version)
{
    ptrdiff_t n = (ptrdiff_t)strlen(root);

    for (at = strstr(at, "v0.0."); at != NULL; at = strstr(at + 1, "v0.0.")) {
        const char *before = at - 1;

        if (at == text || *before != '/')
            continue;
        before -= before > text && before[-1] == '\\';
        if (before - text < n || strncmp(before - n, root, (size_t)n) != 0)
            continue;
        *version = strtol(at + 5, NULL, 10);
        return at + 1;
    }
    return NULL;
}

int slurmrestd_version_in(const char *text, const char *root)
{
    int newest = 0;
    long version;

    for (const char *at = text; (at = next_version(text, at, root, &version)) != NULL;)
        if (version >= SLURMRESTD_OLDEST && version <= SLURMRESTD_NEWEST && version > newest)
            newest = (int)version;
    return newest;
}

bool slurmrestd_has_version(const char *text, const char *root, int wanted)
{
    long version;

    for (const char *at = text; (at = next_version(text, at, root, &version)) != NULL;)
        if (version == wanted)
            return true;
    return false;
}

static void described(void *arg, struct rest_result *result)
{
    struct slurmrestd *a = arg;
    char sentence[120];

    if (slurmrestd_check(a, result, &a->unknown) == 0) {
        a->version = slurmrestd_version_in(result->body, "slurm");
        a->has_accounts = slurmrestd_has_version(result->body, "slurmdb", a->version);
        if (a->version == 0)
            error_set(&a->unknown, "batch_system_unsure",
                      "slurmrestd offers none of the API versions v0.0.%d to v0.0.%d", SLURMRESTD_OLDEST,
                      SLURMRESTD_NEWEST);
    }
    if (a->version != 0) {
        snprintf(sentence, sizeof sentence, "slurmrestd is spoken to in its API version v0.0.%d, %s", a->version,
                 a->has_accounts ? "and asked for accounts" : "which tells no accounts");
        a->batch.host.log(a->batch.host.arg, ADAPTER_LOG_INFO, NULL, sentence);
    }
    batch_waited(&a->version_waiting);
    batch_idle(&a->batch);
}

void slurmrestd_version_ready(struct slurmrestd *a, void (*go)(void *arg), void *arg)
{
    if (a->rest == NULL)
        error_set(&a->unknown, "batch_system_unsure",
                  "the setting adapters.slurmrestd.url does not say where slurmrestd is");
    else if (a->batch.closing)
        error_set(&a->unknown, "batch_system_unsure", "the daemon ends");
    if (a->version != 0 || a->rest == NULL || a->batch.closing) {
        go(arg);
        return;
    }
    if (!batch_wait(&a->version_waiting, go, arg))
        return;
    batch_busy(&a->batch);
    rest_ask(a->rest,
             &(struct rest_request){
                 .method = "GET", .path = "/openapi/v3", .limit_ms = a->batch.timeout_ms, .max = DESCRIPTION_MAX},
             described, a);
}

static void ask_free(struct ask *ask)
{
    free(ask->method);
    free(ask->path);
    free(ask->body);
    free(ask);
}

static void ask_answered(void *arg, struct rest_result *result)
{
    struct ask *ask = arg;
    struct slurmrestd *a = ask->a;

    if (result->status == 404 && result->body[0] != '{') /* the server was replaced by one without that version */
        a->version = 0;
    ask->cb(ask->arg, result);
    ask_free(ask);
    batch_idle(&a->batch);
}

static void not_asked(void *arg)
{
    struct ask *ask = arg;
    char nothing[1] = "";
    struct rest_result result = {.body = nothing, .not_sent = true};

    snprintf(result.why, sizeof result.why, "%.390s", ask->a->batch.closing ? "the daemon ends" : ask->a->unknown.text);
    ask_answered(ask, &result);
}

static void ask_now(void *arg)
{
    struct ask *ask = arg;
    struct slurmrestd *a = ask->a;
    char *path;

    if (a->version == 0 || a->batch.closing) {
        answers_call(a->batch.answers, not_asked, ask);
        return;
    }
    path = xasprintf("/%s/v0.0.%d%s", ask->root, a->version, ask->path);
    rest_ask(a->rest,
             &(struct rest_request){
                 .method = ask->method, .path = path, .body = ask->body, .limit_ms = ask->limit_ms, .max = ask->max},
             ask_answered, ask);
    free(path);
}

static void ask_once_known(struct ask ask)
{
    struct ask *copy = xcalloc(1, sizeof *copy);

    *copy = ask;
    batch_busy(&ask.a->batch);
    slurmrestd_version_ready(ask.a, ask_now, copy);
}

void slurmrestd_ask(struct slurmrestd *a, const char *method, const char *path, const char *body, size_t max,
                    rest_cb *cb, void *arg)
{
    ask_once_known((struct ask){.a = a,
                                .root = "slurm",
                                .method = xstrdup(method),
                                .path = xstrdup(path),
                                .body = body != NULL ? xstrdup(body) : NULL,
                                .limit_ms = a->batch.timeout_ms,
                                .max = max,
                                .cb = cb,
                                .arg = arg});
}

void slurmrestd_ask_accounts(struct slurmrestd *a, const char *path, rest_cb *cb, void *arg)
{
    int64_t limit_ms = a->batch.timeout_ms < SLURM_PAST_MS ? a->batch.timeout_ms : SLURM_PAST_MS;

    ask_once_known((struct ask){.a = a,
                                .root = "slurmdb",
                                .method = xstrdup("GET"),
                                .path = xstrdup(path),
                                .limit_ms = limit_ms,
                                .max = SLURM_LIST_MAX,
                                .cb = cb,
                                .arg = arg});
}
