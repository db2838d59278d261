/* Copies of parameter files: which ensemble has which, and those that none has. */
#include "daemon/engine/memory/rows.h"

#include "common/files.h"
#include "common/log.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/core.h"
#include "daemon/store/parameter_rows.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *engine_rows_dir(const struct engine *engine)
{
    return engine->ports.rows_dir;
}

int engine_store_rows(struct engine *engine, int64_t ensemble, const struct rows *rows, struct error *err)
{
    char *columns = rows_columns_text(rows);
    int rc = store_parameter_rows_insert(engine->store, ensemble, rows_name(rows), rows_count(rows), columns, err);

    free(columns);
    return rc;
}

int engine_open_rows(struct engine *engine, int64_t ensemble, struct rows **rows, struct error *err)
{
    struct parameter_rows_row row;
    int rc = store_parameter_rows_get(engine->store, ensemble, &row, err);

    *rows = NULL;
    if (rc <= 0)
        return rc;
    *rows = rows_open(engine->ports.rows_dir, row.name, row.columns, row.count, err);
    free(row.columns);
    return *rows != NULL ? 0 : -1;
}

/* Reads the name of the copy that a file belongs to. Returns false if the file is none of ours. */
static bool copy_name(const char *file, char name[PARAMETER_ROWS_NAME])
{
    size_t size = strspn(file, "0123456789abcdef");

    if (size != PARAMETER_ROWS_NAME - 1 || (strcmp(file + size, ".jsonl") != 0 && strcmp(file + size, ".index") != 0))
        return false;
    memcpy(name, file, size);
    name[size] = '\0';
    return true;
}

int engine_sweep_rows(struct engine *engine, struct error *err)
{
    const char *path = engine->ports.rows_dir;
    char name[PARAMETER_ROWS_NAME];
    struct dirent *entry;
    int known = 0;
    DIR *dir;

    if (dir_make(path, err) < 0)
        return -1;
    dir = opendir(path);
    if (dir == NULL)
        return error_errno(err, "store_io", "%s", path);
    while (known >= 0 && (entry = readdir(dir)) != NULL) {
        if (!copy_name(entry->d_name, name))
            continue;
        known = store_parameter_rows_known(engine->store, name, err);
        if (known == 0) {
            log_info("%s/%s: the copy of a parameter file that was never accepted is removed", path, entry->d_name);
            rows_remove(path, name);
        }
    }
    closedir(dir);
    return known < 0 ? -1 : 0;
}
