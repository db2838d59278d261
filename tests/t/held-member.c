/* A member that streams and leaves checkpoints: held-member HOW STEPS AT BYTES. It sends STEPS steps of one field of
 * BYTES bytes, and begins at its checkpoint where it has one. Its first attempt leaves a checkpoint before it sends
 * step AT, tells so by the file `left` in its directory, and is killed a second later, wherever it is then. Each
 * attempt makes the file `sent` when it has sent something.
 *
 *   reported  the checkpoint is reported by the library
 *   found     it has a name that the spec's glob finds
 *   both      every attempt leaves one before every AT-th step, by turns in one way and the other, and goes on: somebody
 *             else kills it */
#include "tasks/member/stretto.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct stretto *stream;

static void check(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "held-member: %s\n", stretto_error(stream));
    exit(1);
}

static int first_step(void)
{
    const char *path = getenv("STRETTO_RESUME");
    FILE *file = path != NULL ? fopen(path, "r") : NULL;
    int step = 0;

    if (path != NULL && (file == NULL || fscanf(file, "%d", &step) != 1))
        exit(2);
    if (file != NULL)
        fclose(file);
    return step;
}

static void touch(const char *path)
{
    close(open(path, O_WRONLY | O_CREAT, 0600));
}

/* The number in it is that of the step with which the next attempt begins. */
static void leave_checkpoint(int next, int report, int last)
{
    const char *dir = getenv("STRETTO_CHECKPOINT_DIR");
    char part[4096], path[4096];
    FILE *file;

    snprintf(part, sizeof part, "%s/part", dir);
    snprintf(path, sizeof path, "%s/step-%d.%s", dir, next, report ? "reported" : "ckpt");
    file = fopen(part, "w");
    if (file == NULL || fprintf(file, "%d\n", next) < 0 || fclose(file) != 0 || rename(part, path) != 0)
        exit(3);
    touch("left");
    if (last)
        alarm(1);
    if (report)
        check(stretto_checkpointed(stream, path, next - 1));
}

int main(int argc, char **argv)
{
    const char *how = argc == 5 ? argv[1] : "", *attempt = getenv("STRETTO_ATTEMPT");
    int steps = argc == 5 ? atoi(argv[2]) : 0, at = argc == 5 ? atoi(argv[3]) : 0, bytes = argc == 5 ? atoi(argv[4]) : 1;
    int both = strcmp(how, "both") == 0, once = !both && (attempt == NULL || atoi(attempt) == 1), field;
    int64_t shape[] = {bytes};
    uint8_t *data = calloc((size_t)bytes, 1);

    check(stretto_open(&stream));
    field = stretto_field(stream, "data", STRETTO_UINT8, 1, shape);
    check(field);
    for (int step = first_step(); step < steps; step++) {
        if (both ? step > 0 && step % at == 0 : once && step == at)
            leave_checkpoint(step, both ? step / at % 2 : strcmp(how, "reported") == 0, once);
        check(stretto_send(stream, field, step, data));
        touch("sent");
        if (once && step == at)
            pause();
    }
    free(data);
    return stretto_close(stream) < 0;
}
