#include "cli/progress.h"

#include "cli/ensemble.h"
#include "cli/render.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PLAIN_EVERY_MS 5000
#define BAR_MAX 40

struct progress_bar {
    FILE *to;
    bool terminal, drawn;
    int64_t told_at; /* time of the last plain line; -1 if there was none yet */
    char notice[64]; /* code of the last notice that was shown; "" for none */
};

struct progress_bar *progress_create(FILE *to)
{
    struct progress_bar *progress = xcalloc(1, sizeof *progress);
    const char *term = getenv("TERM");

    progress->to = to;
    progress->terminal = isatty(fileno(to)) && term && strcmp(term, "dumb") != 0;
    progress->told_at = -1;
    return progress;
}

void progress_destroy(struct progress_bar *progress)
{
    free(progress);
}

static void put_progress_bar(FILE *out, int64_t done, int64_t count, int cells)
{
    int64_t filled = count > 0 ? done * cells / count : 0;

    fputc('[', out);
    for (int i = 0; i < cells; i++)
        fputc(i < filled ? '#' : '.', out);
    fputs("] ", out);
}

/* Prints the figures after the bar. */
static void put_figures(FILE *out, const json_t *ensemble)
{
    char text[RENDER_SIZE];
    const json_t *training = ensemble_training(ensemble), *loss;
    int64_t count = get_int(ensemble, "count"), failed = ensemble_members(ensemble, "failed");
    double eta = ensemble_eta(ensemble);

    fprintf(out, "%lld/%lld members, %lld running", (long long)ensemble_finished(ensemble), (long long)count,
            (long long)ensemble_members(ensemble, "running"));
    if (failed > 0)
        fprintf(out, ", %lld failed", (long long)failed);
    if (strcmp(get_string(ensemble, "state"), "paused") == 0)
        fputs(", paused", out);
    if (training && ensemble_finished(ensemble) == count && get_int(training, "drawn") < get_int(training, "unique"))
        fprintf(out, ", %lld samples left to train on",
                (long long)(get_int(training, "unique") - get_int(training, "drawn")));
    else if (training)
        fprintf(out, ", %s samples/s", render_number(text, json_object_get(training, "samples_per_second")));
    loss = ensemble_metric(ensemble, "train_loss");
    if (loss)
        fprintf(out, ", loss %s", render_metric(text, loss));
    loss = ensemble_metric(ensemble, "validation_loss");
    if (loss)
        fprintf(out, ", validation %s", render_metric(text, loss));
    if (eta >= 0)
        fprintf(out, ", eta %s", render_duration(text, eta));
}

char *progress_line(const json_t *ensemble, int columns)
{
    char *figures = NULL, *line = NULL, *name = render_text(get_string(ensemble, "name"));
    size_t size;
    int cells;
    FILE *out = open_memstream(&figures, &size);

    put_figures(out, ensemble);
    fclose(out);
    if (columns == 0) {
        line = xasprintf("%lld %s: %s", (long long)get_int(ensemble, "id"), name, figures);
    } else {
        cells = columns - 4 - (int)strlen(figures);
        out = open_memstream(&line, &size);
        if (cells >= 8)
            put_progress_bar(out, ensemble_finished(ensemble), get_int(ensemble, "count"),
                             cells < BAR_MAX ? cells : BAR_MAX);
        fputs(figures, out);
        fclose(out);
        if ((int)strlen(line) >= columns) /* the last column stays free, since some terminals wrap there */
            line[columns - 1] = '\0';
    }
    free(name);
    free(figures);
    return line;
}

/* Prints a notice on a line of its own when its cause changes. Its text alone may change often. */
static void show_notice(struct progress_bar *progress, const json_t *ensemble)
{
    const char *code = get_string(json_object_get(ensemble, "notice"), "code");
    char *text;

    if (strcmp(code, progress->notice) == 0)
        return;
    snprintf(progress->notice, sizeof progress->notice, "%s", code);
    if (code[0] == '\0' || ensemble_held(ensemble)) /* a hold ends the waiting, and is reported then */
        return;
    text = render_sentence(ensemble_notice(ensemble));
    progress_hide(progress);
    fprintf(progress->to, "ensemble %lld waits: %s\n", (long long)get_int(ensemble, "id"), text);
    free(text);
}

void progress_show(void *arg, const json_t *ensemble)
{
    struct progress_bar *progress = arg;
    struct winsize size = {0};
    int64_t now = time_monotonic_ms();
    char *line;

    show_notice(progress, ensemble);
    if (!progress->terminal) {
        if (progress->told_at >= 0 && now - progress->told_at < PLAIN_EVERY_MS)
            return;
        progress->told_at = now;
        line = progress_line(ensemble, 0);
        fprintf(progress->to, "%s\n", line);
    } else {
        if (ioctl(fileno(progress->to), TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
            size.ws_col = 80;
        line = progress_line(ensemble, size.ws_col);
        fprintf(progress->to, "\r\033[K%s", line);
        progress->drawn = true;
    }
    fflush(progress->to);
    free(line);
}

void progress_hide(void *arg)
{
    struct progress_bar *progress = arg;

    if (progress->drawn)
        fputs("\r\033[K", progress->to);
    fflush(progress->to);
    progress->drawn = false;
}
