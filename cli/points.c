#include "cli/points.h"

#include "cli/client.h"
#include "common/xalloc.h"

#include <stdlib.h>

#define PAGE 5000

int member_points_read(struct cli *cli, int64_t ensemble, int64_t index, const char *metric,
                       bool (*take)(void *arg, const json_t *point), void *arg, struct error *err)
{
    char *name = client_escape(metric), *cursor = xstrdup("");
    bool more = true;
    int rc = 0;

    while (rc == 0 && more && cursor != NULL) {
        char *path = xasprintf("/v1/ensembles/%lld/members/%lld/points?name=%s&limit=%d%s%s", (long long)ensemble,
                               (long long)index, name, PAGE, cursor[0] ? "&cursor=" : "", cursor);
        json_t *page = NULL, *point;
        const char *next;
        size_t i;

        rc = client_get(cli->client, path, &page, NULL, err);
        json_array_foreach (json_object_get(page, "points"), i, point)
            more = more && take(arg, point);
        next = json_string_value(json_object_get(page, "next"));
        free(cursor);
        cursor = next != NULL ? client_escape(next) : NULL;
        json_decref(page);
        free(path);
    }
    free(cursor);
    free(name);
    return rc;
}
