#include "cli/pages.h"

#include "cli/client.h"
#include "cli/render.h"
#include "common/jsonx.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merge {
    const char *key;
    bool open;
    size_t items;
};

static void print_items(struct merge *merge, const json_t *items)
{
    json_t *item;
    size_t i;

    if (!merge->open)
        printf("{\"%s\":[", merge->key);
    merge->open = true;
    json_array_foreach (items, i, item) {
        if (merge->items++ > 0)
            putchar(',');
        jsonx_print(item, stdout);
    }
}

static char *page_path(const char *path, const char *cursor)
{
    char *escaped = client_escape(cursor);
    char *with = xasprintf("%s%ccursor=%s", path, strchr(path, '?') ? '&' : '?', escaped);

    free(escaped);
    return with;
}

int pages_each(struct cli *cli, const char *path, const char *key, void (*page)(void *arg, const json_t *items),
               void *arg, struct error *err)
{
    struct merge merge = {.key = key};
    char *at = xstrdup(path), *text;
    int rc = 0;

    while (at) {
        json_t *reply = NULL;
        const json_t *items;
        const char *next;

        rc = client_get(cli->client, at, &reply, &text, err);
        free(at);
        at = NULL;
        if (rc < 0)
            break;
        items = json_object_get(reply, key);
        next = json_string_value(json_object_get(reply, "next"));
        if (!cli->json)
            page(arg, items);
        else if (next == NULL && !merge.open)
            render_document(text);
        else
            print_items(&merge, items);
        if (next)
            at = page_path(path, next);
        free(text);
        json_decref(reply);
    }
    if (merge.open && rc == 0)
        puts("],\"next\":null}");
    free(at);
    return rc;
}
