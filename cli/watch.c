#include "cli/watch.h"

#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/progress.h"
#include "cli/render.h"
#include "cli/report.h"
#include "common/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_PAUSE_MS 100
#define LAST_PAUSE_MS 1000

static volatile int interrupted;

static void on_interrupt(int sig)
{
    interrupted = 1;
}

void watch_begin(struct cli *cli)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    client_interrupt(cli->client, &interrupted);
}

int watch_sleep(int64_t ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    if (!interrupted)
        nanosleep(&pause, NULL);
    return interrupted;
}

bool watch_may_pass(const struct error *err)
{
    return strcmp(err->code, CLIENT_NO_DAEMON) == 0 || strcmp(err->code, "busy") == 0 ||
           strcmp(err->code, "tcp_busy") == 0;
}

static int say_how_to_return(const struct cli *cli, int64_t id)
{
    const char *env = getenv("STRETTO_URL");
    bool said = cli->url && (env == NULL || strcmp(cli->url, env) != 0); /* --url was given, not the environment */

    fprintf(stderr, "stretto: no longer watching; the work goes on. To come back: stretto %s%s%swait %lld\n",
            said ? "--url " : "", said ? cli->url : "", said ? " " : "", (long long)id);
    return CLI_INTERRUPTED;
}

int watch_ensemble(struct cli *cli, int64_t id, const struct view *view, json_t **ensemble, char **text)
{
    char *path = xasprintf("/v1/ensembles/%lld", (long long)id);
    int64_t pause = FIRST_PAUSE_MS;
    bool seen = false, away = false;
    int status = CLI_HOLDS;

    watch_begin(cli);
    *ensemble = NULL;
    *text = NULL;
    do {
        struct error err = {0};

        json_decref(*ensemble);
        free(*text);
        *ensemble = NULL;
        *text = NULL;
        if (client_get(cli->client, path, ensemble, text, &err) == 0) {
            if (away)
                fprintf(stderr, "stretto: the daemon is back\n");
            seen = true;
            away = false;
            view->show(view->arg, *ensemble);
            if (ensemble_ended(*ensemble) || ensemble_held(*ensemble))
                goto out;
        } else if (strcmp(err.code, CLIENT_INTERRUPTED) != 0 && (!seen || !watch_may_pass(&err))) {
            view->hide(view->arg);
            status = cli_fail(&err);
            goto out;
        } else if (!away && !interrupted) {
            view->hide(view->arg);
            fprintf(stderr, "stretto: %s; trying until it is back (Ctrl-C to stop trying)\n",
                    strcmp(err.code, CLIENT_NO_DAEMON) == 0 ? "the daemon does not answer" : err.text);
            away = true;
        }
        if (watch_sleep(pause))
            break;
        if (pause < LAST_PAUSE_MS)
            pause = pause * 3 / 2;
    } while (!interrupted);
    view->hide(view->arg);
    status = say_how_to_return(cli, id);
out:
    if (status != CLI_HOLDS) {
        json_decref(*ensemble);
        free(*text);
        *ensemble = NULL;
        *text = NULL;
    }
    free(path);
    return status;
}

/* Returns the follow-up that goes on with this ensemble's unfinished members; 0 if there is none to wait for. */
static int64_t next_of(struct cli *cli, const json_t *ensemble, bool family)
{
    int64_t next = json_integer_value(json_array_get(json_object_get(ensemble, "follow_ups"), 0));
    char *path = xasprintf("/v1/ensembles/%lld/spec", (long long)get_int(ensemble, "id"));
    json_t *spec = NULL;
    struct error err;

    if (next != 0 && !family && client_get(cli->client, path, &spec, NULL, &err) < 0)
        next = 0;
    if (next != 0 && !family && !json_is_true(json_object_get(json_object_get(spec, "follow_up"), "auto")))
        next = 0;
    json_decref(spec);
    free(path);
    return next;
}

/* Returns whether all members have succeeded, in whichever ensemble of the family. */
static bool family_succeeded(struct cli *cli, const json_t *ensemble)
{
    char *path = xasprintf("/v1/ensembles/%lld", (long long)get_int(ensemble, "root"));
    json_t *root = NULL;
    const json_t *counts;
    struct error err;
    bool rc = client_get(cli->client, path, &root, NULL, &err) == 0;

    counts = json_object_get(json_object_get(root, "family"), "members");
    rc = rc && get_int(counts, "succeeded") + get_int(counts, "stopped") == ensemble_sum(counts);
    json_decref(root);
    free(path);
    return rc;
}

int watch_and_report(struct cli *cli, int64_t id, bool family)
{
    struct progress_bar *progress = progress_create(stderr);
    struct view view = {progress_show, progress_hide, progress};
    json_t *ensemble;
    int64_t first = id;
    char *text;
    int status;

    do {
        status = watch_ensemble(cli, id, &view, &ensemble, &text);
        progress_hide(progress);
        if (status != CLI_HOLDS)
            break;
        if (cli->json)
            render_document(text);
        else
            report_final(cli, ensemble);
        status =
            (id == first ? ensemble_succeeded(ensemble) : family_succeeded(cli, ensemble)) ? CLI_HOLDS : CLI_NOT_SO;
        id = next_of(cli, ensemble, family);
        if (id != 0)
            fprintf(stderr, "stretto: ensemble %lld goes on in ensemble %lld\n", (long long)get_int(ensemble, "id"),
                    (long long)id);
        json_decref(ensemble);
        free(text);
    } while (id != 0);
    progress_destroy(progress);
    return status;
}
