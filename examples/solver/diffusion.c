/* Diffusion of a hot rectangle. Three kinds of lines are for stretto: open and declare, send, close. */
#include <stretto.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 32, NY = 24, STEPS = 40 };

static double u[NY + 2][NX + 2], next[NY + 2][NX + 2]; /* with a rim that stays 0 */

static void advance(double d)
{
    for (int j = 1; j <= NY; j++)
        for (int i = 1; i <= NX; i++)
            next[j][i] = u[j][i] + d * (u[j][i - 1] + u[j][i + 1] + u[j - 1][i] + u[j + 1][i] - 4 * u[j][i]);
    memcpy(u, next, sizeof u);
}

static int fail(struct stretto *s)
{
    fprintf(stderr, "diffusion: %s\n", stretto_error(s));
    stretto_abort(s);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    const double d = argc > 1 ? atof(argv[1]) : 0.1;
    const int64_t whole[] = {NY, NX}, row[] = {NX};
    double inner[NY][NX];
    struct stretto *stream;
    int temperature, profile;

    if (stretto_open(&stream) < 0)
        return fail(stream);
    /* double here, float32 in the spec: narrowed on the way */
    temperature = stretto_field(stream, "temperature", STRETTO_FLOAT64, 2, whole);
    profile = stretto_field(stream, "profile", STRETTO_FLOAT32, 1, row);
    if (temperature < 0 || profile < 0)
        return fail(stream);

    for (int j = 15; j <= 19; j++)
        for (int i = 5; i <= 10; i++)
            u[j][i] = 100;
    for (int step = 0; step < STEPS; step++) {
        void *lent;
        float *mean;

        advance(d);
        for (int j = 0; j < NY; j++)
            memcpy(inner[j], &u[j + 1][1], sizeof inner[j]);
        if (stretto_send(stream, temperature, step, inner) < 0)
            return fail(stream);

        /* float in the spec, too: computed in the send buffer, and never copied */
        if (stretto_lend(stream, profile, &lent) < 0)
            return fail(stream);
        mean = lent;
        for (int i = 0; i < NX; i++) {
            double sum = 0;

            for (int j = 0; j < NY; j++)
                sum += inner[j][i];
            mean[i] = (float)(sum / NY);
        }
        if (stretto_send_lent(stream, profile, step) < 0)
            return fail(stream);
    }
    /* a member whose close fails must not report success */
    return stretto_close(stream) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
