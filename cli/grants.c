#include "cli/grants.h"

#include "cli/client.h"
#include "cli/pages.h"
#include "cli/render.h"
#include "cli/table.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

#define COLUMNS_MAX 10

struct grant_table {
    struct table *table;
    const struct grant_column *columns;
};

static void print_grants_page(void *arg, const json_t *items)
{
    const struct grant_table *list = arg;
    json_t *item;
    size_t i;

    json_array_foreach (items, i, item) {
        for (const struct grant_column *c = list->columns; c->header; c++) {
            const json_t *value = json_object_get(item, c->key);

            if (c->cell == GRANT_NUMBER && json_is_integer(value))
                table_cellf(list->table, "%lld", (long long)json_integer_value(value));
            else if (c->cell == GRANT_AGE)
                table_age(list->table, get_string(item, c->key));
            else
                table_cell(list->table, get_string(item, c->key));
        }
    }
    table_print(list->table, stdout);
}

int grants_list(struct cli *cli, const char *path, const char *key, const struct grant_column *columns,
                struct error *err)
{
    const char *headers[COLUMNS_MAX + 1] = {0};
    struct grant_table list = {.columns = columns};
    int rc;

    for (size_t i = 0; i < COLUMNS_MAX && columns[i].header; i++)
        headers[i] = columns[i].header;
    list.table = table_create(headers);
    rc = pages_each(cli, path, key, print_grants_page, &list, err);
    table_destroy(list.table);
    return rc;
}

int grant_make(struct cli *cli, const char *path, json_t *wish, const char *code,
               void (*show)(void *arg, const json_t *made), void *arg, struct error *err)
{
    char *body = wish ? json_dumps(wish, 0) : NULL, *text = NULL;
    json_t *made = NULL;
    int rc;

    json_decref(wish);
    if (body == NULL)
        return error_set(err, code, "the values of options must be text in UTF-8");
    rc = client_post(cli->client, path, body, &made, &text, err);
    free(body);
    if (rc == 0 && cli->json)
        render_document(text);
    else if (rc == 0)
        show(arg, made);
    json_decref(made);
    free(text);
    return rc;
}

int grant_revoke(struct cli *cli, const char *path, const char *what, int64_t id, struct error *err)
{
    char *one = xasprintf("%s/%lld", path, (long long)id), *text = NULL;
    int rc = client_delete(cli->client, one, NULL, &text, err);

    free(one);
    if (rc == 0 && cli->json)
        render_document(text);
    else if (rc == 0)
        printf("%s %lld: revoked\n", what, (long long)id);
    free(text);
    return rc;
}
