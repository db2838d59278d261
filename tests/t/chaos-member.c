/* A member of the ensembles that chaos.sh disturbs: chaos-member STEPS GO. It sends STEPS samples of one field, of
 * which the first half at once; then it waits for the file GO. At every eighth step, and when it is warned of the end
 * of its time, it leaves a checkpoint; in the second case it stops there. It writes the file `result` at its end. */
#include "tasks/member/stretto.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct stretto *stream;
static volatile sig_atomic_t warned;

static void on_signal(int number)
{
    (void)number;
    warned = 1;
}

static void check(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "chaos-member: %s\n", stretto_error(stream));
    stretto_abort(stream);
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

/* The number in it is that of the step with which the next attempt begins. False if the disk is full. */
static bool leave_checkpoint(int next)
{
    char part[4096], path[4096];
    const char *dir = getenv("STRETTO_CHECKPOINT_DIR");
    FILE *file;
    bool written;

    snprintf(part, sizeof part, "%s/part", dir);
    snprintf(path, sizeof path, "%s/step-%d", dir, next);
    file = fopen(part, "w");
    if (file == NULL)
        return false;
    written = fprintf(file, "%d\n", next) > 0;
    written = fclose(file) == 0 && written && rename(part, path) == 0;
    if (written)
        check(stretto_checkpointed(stream, path, next - 1));
    return written;
}

static bool is_due(void)
{
    return warned || stretto_checkpoint_due(stream, 0);
}

/* Ends the stream. A member that learnt only from the signal that its time is over has not finished. */
static int stop(void)
{
    if (stretto_checkpoint_due(stream, 0))
        return stretto_close(stream) < 0;
    stretto_abort(stream);
    return 0;
}

int main(int argc, char **argv)
{
    int steps = argc == 3 ? atoi(argv[1]) : 0, first = first_step(), field;
    const char *index = getenv("STRETTO_MEMBER");
    FILE *file;

    signal(SIGUSR2, on_signal);
    check(stretto_open(&stream));
    check(field = stretto_field(stream, "place", STRETTO_INT32, 1, (int64_t[]){2}));
    for (int step = first; step < steps; step++) {
        while (step >= steps / 2 && access(argv[2], F_OK) != 0 && !is_due())
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        if (step > first && (is_due() || step % 8 == 0) && leave_checkpoint(step) && is_due())
            return stop();
        check(stretto_send(stream, field, step, (int32_t[]){index != NULL ? atoi(index) : 0, step}));
    }
    check(stretto_finish(stream));
    stretto_abort(stream);
    file = fopen("result", "w");
    return file == NULL || fclose(file) != 0;
}
