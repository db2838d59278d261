#include "api/training_figures.h"

#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/rundir/rundir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS_TOLD 4096 /* ranks of all trainings together that are reported */

static const struct {
    const char *name, *type, *key, *help;
} metrics[] = {
#define RANK_METRIC(name, type, key, help) {name, type, key, help},
#include "api/tbl/rank_metrics.h"
#undef RANK_METRIC
};

struct figures {
    struct request *r;
    char *text;
    struct training_row *rows;
    size_t n;
    int64_t ranks, untold; /* ranks that are reported, and ranks that are left out because there are too many */
};

static int add_figures_row(void *arg, const struct training_row *row)
{
    struct figures *f = arg;

    if (f->ranks + row->ranks > RANKS_TOLD) {
        f->untold += row->ranks;
        return 0;
    }
    f->rows = xrealloc(f->rows, f->n + 1, sizeof *row);
    f->rows[f->n++] = *row;
    f->ranks += row->ranks;
    return 0;
}

static void write_value(FILE *out, const json_t *value)
{
    char digits[TEXT_REAL];

    if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
    else
        fprintf(out, "%s\n", text_real(digits, json_real_value(value)));
}

/* Returns whether a value can be reported. The files are written by a program, and may hold anything. */
static bool can_be_told(const json_t *value)
{
    return json_is_number(value) && json_number_value(value) >= 0;
}

static void write_metric(FILE *out, const struct figures *f, size_t metric, json_t **files)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metrics[metric].name, metrics[metric].help, metrics[metric].name,
            metrics[metric].type);
    for (size_t i = 0; i < f->n; i++)
        for (int64_t rank = 0; rank < f->rows[i].ranks; rank++, files += RANK_FILES) {
            const json_t *status = files[RANK_FILE_DONE] != NULL ? files[RANK_FILE_DONE] : files[RANK_FILE_STATUS];
            const json_t *value = json_object_get(status, metrics[metric].key);

            if (!can_be_told(value))
                continue;
            fprintf(out, "%s{ensemble=\"%" PRId64 "\",training=\"%" PRId64 "\",rank=\"%" PRId64 "\"} ",
                    metrics[metric].name, f->rows[i].ensemble, f->rows[i].id, rank);
            write_value(out, value);
        }
}

static void write_trainings(FILE *out, const struct figures *f)
{
    fprintf(out, "# HELP stretto_training_ranks Ranks of each training that is under way.\n"
                 "# TYPE stretto_training_ranks gauge\n");
    for (size_t i = 0; i < f->n; i++)
        fprintf(out, "stretto_training_ranks{ensemble=\"%" PRId64 "\",training=\"%" PRId64 "\"} %" PRId64 "\n",
                f->rows[i].ensemble, f->rows[i].id, f->rows[i].ranks);
    fprintf(out, "# HELP stretto_training_restarts How often each training that is under way has begun anew.\n"
                 "# TYPE stretto_training_restarts gauge\n");
    for (size_t i = 0; i < f->n; i++)
        fprintf(out, "stretto_training_restarts{ensemble=\"%" PRId64 "\",training=\"%" PRId64 "\"} %" PRId64 "\n",
                f->rows[i].ensemble, f->rows[i].id, f->rows[i].generation - 1);
    fprintf(out,
            "# HELP stretto_training_ranks_untold Ranks that are left out here, since there are more than %d.\n"
            "# TYPE stretto_training_ranks_untold gauge\nstretto_training_ranks_untold %" PRId64 "\n",
            RANKS_TOLD, f->untold);
}

static void reply_figures(struct figures *f, json_t **files)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out != NULL) {
        fputs(f->text, out);
        write_trainings(out, f);
        for (size_t i = 0; files != NULL && i < sizeof metrics / sizeof *metrics; i++)
            write_metric(out, f, i, files);
    }
    if (out == NULL || fclose(out) != 0) {
        free(text);
        request_reply_error(f->r, "internal", "no memory");
    } else {
        request_reply_text(f->r, 200, "text/plain; version=0.0.4; charset=utf-8", text);
    }
    free(f->text);
    free(f->rows);
    free(f);
}

/* Called when the files are read. Files that cannot be read are left out, since the others are worth reporting. */
static void figures_read(void *arg, json_t **json, const struct error *failed)
{
    reply_figures(arg, failed == NULL ? json : NULL);
}

void training_figures_reply(struct request *r, char *text)
{
    const struct engine *engine = request_config(r)->engine;
    struct figures *f = xcalloc(1, sizeof *f);
    char **paths;
    size_t n = 0;

    f->r = r;
    f->text = text;
    engine_each_training(engine, add_figures_row, f);
    if (f->ranks == 0) {
        reply_figures(f, NULL);
        return;
    }
    paths = xcalloc((size_t)f->ranks * RANK_FILES, sizeof *paths);
    for (size_t i = 0; i < f->n; i++)
        for (int64_t rank = 0; rank < f->rows[i].ranks; rank++, n += RANK_FILES)
            engine_rank_files(engine, &f->rows[i], rank, paths + n);
    request_hold(r);
    rundir_ops.read(request_config(r)->loop, paths, n, figures_read, f);
}
