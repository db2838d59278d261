/* checkpoint-member STEPS SECONDS: counts to STEPS, SECONDS a step, and leaves its count as a checkpoint by way of the
 * library when there is no time for two steps more. */
#include "tasks/member/stretto.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int count_in(const char *path)
{
    FILE *file = fopen(path, "r");
    int count = -1;

    if (file == NULL || fscanf(file, "%d", &count) != 1)
        exit(3);
    fclose(file);
    return count;
}

static void write_count(const char *path, int count)
{
    FILE *file = fopen(path, "w");

    if (file == NULL || fprintf(file, "%d\n", count) < 0 || fclose(file) != 0)
        exit(4);
}

int main(int argc, char **argv)
{
    const char *resume = getenv("STRETTO_RESUME"), *dir = getenv("STRETTO_CHECKPOINT_DIR");
    int steps = argc > 1 ? atoi(argv[1]) : 1, at = resume ? count_in(resume) : 0;
    double seconds = argc > 2 ? atof(argv[2]) : 0;
    struct stretto *s;
    char path[4096];

    if (stretto_open(&s) < 0)
        return 5;
    for (; at < steps; at++) {
        if (at > 0 && stretto_checkpoint_due(s, 2 * seconds)) {
            snprintf(path, sizeof path, "%s/count-%d", dir ? dir : ".", at);
            write_count(path, at);
            if (stretto_checkpointed(s, path, -1) != -1 || stretto_checkpointed(s, "/dev/null", 1) != -1 ||
                stretto_checkpointed(s, "/nowhere/at/all", 1) != -1 || stretto_checkpointed(s, path, at) < 0) {
                fprintf(stderr, "%s\n", stretto_error(s));
                return 6;
            }
            stretto_abort(s);
            return 0;
        }
        usleep((useconds_t)(seconds * 1e6));
    }
    write_count("result", at);
    if (dir == NULL && (stretto_checkpointed(s, "result", 1) < 0 || stretto_checkpointed(s, "result", 2) < 0))
        return 7;
    printf("%d%s\n", at, stretto_checkpoint_due(s, 1e9) ? " due" : "");
    return stretto_close(s) < 0;
}
