/* Files of parameters: CSV where the first byte is 'c', NumPy's archives where it is 'z', else JSON lines. */
#include "tests/fuzz/fuzz.h"

#include "common/log.h"
#include "daemon/spec/ingest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/st-fuzz.XXXXXX";
static char copies[64];

static void clean(void)
{
    char rm[64];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    if (system(rm) != 0)
        fprintf(stderr, "%s is left\n", dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    MUST(mkdtemp(dir) != NULL);
    snprintf(copies, sizeof copies, "%s/copies", dir);
    MUST(mkdir(copies, 0700) == 0);
    atexit(clean);
    log_init("fuzz", LOG_LEVEL_NONE);
    return 0;
}

static void must_be_empty(void)
{
    DIR *d = opendir(copies);

    MUST(d != NULL);
    for (struct dirent *entry; (entry = readdir(d)) != NULL;)
        MUST(entry->d_name[0] == '.');
    closedir(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {.code = "", .text = ""};
    static const atomic_bool stop;
    struct rows *rows, *again;
    char path[64], *columns;
    int fd;

    if (size == 0)
        return 0;
    snprintf(path, sizeof path, "%s/in%s", dir, data[0] == 'c' ? ".csv" : data[0] == 'z' ? ".npz" : ".jsonl");
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0);
    MUST(write(fd, data + 1, size - 1) == (ssize_t)size - 1);
    close(fd);
    rows = ingest_file(path, copies, "copy", &stop, &err);
    if (rows == NULL) {
        must_tell(&err);
        must_be_empty();
        return 0;
    }
    MUST(rows_count(rows) > 0);
    columns = rows_columns_text(rows);
    again = rows_open(copies, "copy", columns, rows_count(rows), &err);
    MUST(again != NULL);
    MUST(rows_columns(again) == rows_columns(rows));
    for (int64_t i = 0; i < rows_count(rows); i++) {
        json_t *row = rows_at(again, i);

        MUST(json_is_object(row));
        MUST(json_object_size(row) == rows_columns(rows));
        for (size_t c = 0; c < rows_columns(rows); c++) {
            const json_t *value = json_object_get(row, rows_column(rows, c));

            MUST(value != NULL);
            MUST(!rows_is_numeric(rows, c) || json_is_number(value));
        }
        json_decref(row);
    }
    free(columns);
    rows_close(again);
    rows_close(rows);
    rows_remove(copies, "copy");
    must_be_empty();
    return 0;
}
