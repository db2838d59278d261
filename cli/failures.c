#include "cli/failures.h"

#include "cli/client.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAUSES_SHOWN 3
#define LINES_SHOWN 3

static void print_last_lines(const char *text)
{
    const char *line = text + strlen(text);
    int lines = 0;

    while (line > text && (line[-1] != '\n' || ++lines < LINES_SHOWN))
        line--;
    while (*line != '\0') {
        size_t n = strcspn(line, "\n");
        char *one = xasprintf("%.*s", (int)n, line), *clean = render_text(one);

        printf("    %s\n", clean);
        free(clean);
        free(one);
        line += n + (line[n] == '\n');
    }
}

static void print_cause(int64_t ensemble, const json_t *cause)
{
    const json_t *example = json_object_get(cause, "example");
    long long members = get_int(cause, "members"), attempts = get_int(cause, "attempts");
    const char *what = strcmp(get_string(cause, "outcome"), "diverged") == 0 ? "diverged" : "failed";
    char *reason = render_text(
        get_string(json_is_object(example) ? example : cause, json_is_object(example) ? "reason" : "cause"));

    if (json_is_object(example))
        printf("attempt %lld of %lld.%lld %s: %s\n", (long long)get_int(example, "attempt"), (long long)ensemble,
               (long long)get_int(example, "member"), what, reason);
    else
        printf("an attempt %s: %s\n", what, reason);
    if (attempts > 1)
        printf("  in this way: %lld attempts of %lld member%s\n", attempts, members, members == 1 ? "" : "s");
    print_last_lines(get_string(example, "stderr"));
    free(reason);
}

void failures_print(struct cli *cli, int64_t ensemble)
{
    char *path = xasprintf("/v1/ensembles/%lld/failures?limit=%d", (long long)ensemble, CAUSES_SHOWN);
    json_t *reply = NULL, *cause;
    struct error err;
    size_t i;

    if (client_get(cli->client, path, &reply, NULL, &err) == 0) {
        json_array_foreach (json_object_get(reply, "failures"), i, cause) {
            if (i == 0)
                putchar('\n');
            print_cause(ensemble, cause);
        }
        if (get_int(reply, "total") > CAUSES_SHOWN)
            printf("and %lld more causes: /v1/ensembles/%lld/failures\n",
                   (long long)get_int(reply, "total") - CAUSES_SHOWN, (long long)ensemble);
    }
    json_decref(reply);
    free(path);
}
