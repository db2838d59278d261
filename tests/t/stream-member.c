/* An ensemble member for the tests of the stream: STEPS steps of three fields, "temperature" (3 x 4, given as float64),
 * "flux" (2, float64) and "particles" (n x 3, given as float64, where n varies). With a second argument, that step is
 * sent twice; with a third, the second half of them waits for that file. */
#include "tasks/member/stretto.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int fail(struct stretto *s)
{
    fprintf(stderr, "stream-member: %s\n", stretto_error(s));
    stretto_abort(s);
    return 1;
}

static void wait_for(const char *path)
{
    while (access(path, F_OK) != 0)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

int main(int argc, char **argv)
{
    const char *index = getenv("STRETTO_MEMBER");
    int member = index ? atoi(index) : 0, steps = argc > 1 ? atoi(argv[1]) : 1, again = argc > 2 ? atoi(argv[2]) : -1;
    int64_t grid[] = {3, 4}, two[] = {2}, threes[] = {-1, 3};
    double temperature[12], flux[2], particles[40 * 3];
    struct stretto *s;
    int t, f, p;

    if (stretto_open(&s) < 0)
        return fail(s);
    t = stretto_field(s, "temperature", STRETTO_FLOAT64, 2, grid);
    f = stretto_field(s, "flux", STRETTO_FLOAT64, 1, two);
    p = stretto_field(s, "particles", STRETTO_FLOAT64, 2, threes);
    if (t < 0 || f < 0 || p < 0)
        return fail(s);
    for (int step = 0; step < steps; step++) {
        if (argc > 3 && step == steps / 2)
            wait_for(argv[3]);
        for (int times = step == again ? 2 : 1; times > 0; times--) {
            for (int i = 0; i < 12; i++)
                temperature[i] = 100 * member + step + i / 16.0;
            flux[0] = member + 0.1;
            flux[1] = step + 0.1;
            for (int i = 0; i < 3 * (step * 7 % 41); i++)
                particles[i] = member + step + i / 16.0;
            if (stretto_send(s, t, step, temperature) < 0 || stretto_send(s, f, step, flux) < 0 ||
                stretto_send_extent(s, p, step, step * 7 % 41, particles) < 0)
                return fail(s);
        }
    }
    printf("%s, %s\n", stretto_active(s) ? "active" : "idle",
           stretto_time_left(s) > 1e9 ? "without a limit" : "with a limit");
    return stretto_close(s) < 0;
}
