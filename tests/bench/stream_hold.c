/* stream_hold TRANSPORT BYTES MEMBERS SECONDS: what is held while the training does not read. Member processes push twice
 * as much as buffer and windows take; nothing is drawn for so long, then everything. One JSON object on standard output,
 * in MiB of resident memory:
 *
 *   rank, member                  the most that the rank has grown since before the first sample, and of one member. What
 *                                 the members share with the rank is theirs
 *   rank_bound, member_bound      what both may have grown: the buffer, and of each member what ZeroMQ reads ahead and the
 *                                 message that it is reading; the window, and as many idle send buffers; each with 24
 *                                 for the libraries
 *   rank_growth, member_growth    since a quarter of the time had passed: in the rest nothing must grow
 *   received_before, received_after   samples by then, and at the end of the time: the same
 *   missing                       samples that were sent and not drawn, of `samples` */
#include "tasks/train/stretto-train.h"
#include "tests/bench/stream_rig.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_BYTES ((size_t)32 << 20)
#define WINDOW_FRAMES 1024
#define AHEAD_MIB 4
#define SLACK_MIB 24

static struct rig rig;
static long steps; /* of a member */
static pid_t process[RIG_SENDERS_MAX];

/* `shared` memory of files, and of others, too, or not. */
static double resident_mib(pid_t pid, bool shared)
{
    char path[64];
    long size = 0, pages = 0, of_others = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    f = fopen(path, "r");
    must(f != NULL && fscanf(f, "%ld %ld %ld", &size, &pages, &of_others) == 3, "a member has gone");
    fclose(f);
    return (double)(shared ? pages : pages - of_others) * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static double largest_member(void)
{
    double most = 0;

    for (long i = 0; i < rig.senders; i++) {
        double mib = resident_mib(process[i], true);

        most = mib > most ? mib : most;
    }
    return most;
}

static void __attribute__((noreturn)) member(long number, int go)
{
    float *data = calloc(1, rig.bytes);
    char ready;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    must(data != NULL && read(go, &ready, 1) == 1, "the rank is gone");
    rig_send(&rig, number, data, steps);
    _exit(0);
}

struct held {
    double rank, member;
    unsigned long received;
};

static struct held look(struct stretto_train *t, double rank_before, double member_before)
{
    struct stretto_train_stats s;

    stretto_train_stats(t, &s);
    return (struct held){resident_mib(getpid(), false) - rank_before, largest_member() - member_before, s.received};
}

/* Until all members have finished, and all is drawn. */
static void draw_all(struct stretto_train *t)
{
    void *fields[] = {malloc(RIG_BATCH * rig.bytes)};
    long running = rig.senders;
    int status;

    while (running > 0) {
        while (waitpid(-1, &status, WNOHANG) > 0) {
            must(status == 0, "a member failed");
            running--;
        }
        stretto_train_batch(t, fields, NULL, NULL, NULL, 10);
    }
    rig_over(&rig);
    while (stretto_train_batch(t, fields, NULL, NULL, NULL, 60000) > 0)
        ;
    free(fields[0]);
}

int main(int argc, char **argv)
{
    struct held early = {0}, most = {0}, late = {0};
    struct stretto_train_stats s;
    struct stretto_train *t;
    double from, seconds, rank_before, member_before, frame_mib, window_mib, ahead_mib;
    long window;
    int go[2];

    if (argc != 5) {
        fputs("usage: stream_hold memory|ipc|tcp|curve BYTES MEMBERS SECONDS\n", stderr);
        return 2;
    }
    rig.transport = rig_transport(argv[1]);
    rig.bytes = (size_t)atol(argv[2]) / sizeof(float) * sizeof(float);
    rig.senders = atol(argv[3]);
    seconds = atof(argv[4]);
    must(rig.bytes > 0 && rig.senders > 0 && rig.senders <= RIG_SENDERS_MAX && seconds > 0, "impossible numbers");
    rig_init(&rig);
    window = (long)(WINDOW_BYTES / rig.bytes);
    window = window > WINDOW_FRAMES ? WINDOW_FRAMES : window;
    steps = 2 * ((long)rig.capacity / rig.senders + window);
    must(pipe(go) == 0, "no pipe");
    for (long i = 0; i < rig.senders; i++)
        if ((process[i] = fork()) == 0)
            member(i, go[0]);
    if (stretto_train_open(&t) != 0)
        die(stretto_train_error(t));
    rig_offer(&rig);
    rank_before = resident_mib(getpid(), false);
    member_before = largest_member();
    must(write(go[1], "12345678", (size_t)rig.senders) == rig.senders, "no member");
    for (from = now(); now() < from + seconds; nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL)) {
        late = look(t, rank_before, member_before);
        if (now() < from + seconds / 4)
            early = late;
        most.rank = late.rank > most.rank ? late.rank : most.rank;
        most.member = late.member > most.member ? late.member : most.member;
    }
    draw_all(t);
    stretto_train_stats(t, &s);
    frame_mib = (double)(rig.bytes + 128) / (1 << 20);
    window_mib = (double)window * frame_mib;
    ahead_mib = (2 * frame_mib > AHEAD_MIB ? 2 * frame_mib : AHEAD_MIB) + frame_mib;
    printf("{\"rank\": %.1f, \"rank_bound\": %.1f, \"rank_growth\": %.1f, \"member\": %.1f, \"member_bound\": %.1f, "
           "\"member_growth\": %.1f, \"received_before\": %lu, \"received_after\": %lu, \"samples\": %ld, "
           "\"missing\": %ld}\n",
           most.rank, (double)rig.capacity * frame_mib + (double)rig.senders * ahead_mib + SLACK_MIB,
           late.rank - early.rank, most.member, 2 * window_mib + SLACK_MIB, late.member - early.member, early.received,
           late.received, steps * rig.senders, steps * rig.senders - (long)s.drawn);
    stretto_train_close(t);
    return rig_remove(&rig);
}
