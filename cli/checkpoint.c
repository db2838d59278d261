#include "cli/checkpoint.h"

#include "cli/render.h"

void checkpoint_cells(struct table *table, const json_t *checkpoint)
{
    char number[RENDER_SIZE];

    table_cell(table, render_number(number, json_object_get(checkpoint, "step")));
    table_cellf(table, "%lld", (long long)get_int(checkpoint, "size"));
    table_age(table, get_string(checkpoint, "time"));
    table_cellf(table, "%s%s", get_string(checkpoint, "path"),
                json_is_true(json_object_get(checkpoint, "damaged")) ? " (damaged)" : "");
}
