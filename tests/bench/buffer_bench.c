/* buffer_bench WHAT BYTES SECONDS: the buffer of the training side without a network. One JSON object on stdout.
 *
 *   pool    one thread puts samples in, one draws batches of ten and copies them out; a reservoir, capacity 512 MiB or
 *           6,000 samples; put and drawn samples a second, and what the slower of both makes in bytes
 *   memcpy  the same copies by memcpy() alone: from as many places, at random, into the same batch */
#include "tasks/proto/copy.h"
#include "tasks/train/pool.h"
#include "tasks/train/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH 10

static size_t bytes, capacity;
static atomic_bool stop;
static struct pool *pool;
static struct sample_store *store;
static atomic_long put;
static double put_cpu, draw_cpu; /* seconds */

static void must(bool held, const char *why)
{
    if (!held) {
        fprintf(stderr, "buffer_bench: %s\n", why);
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void release(void *data, void *hint)
{
    atomic_bool *used = hint;

    atomic_store_explicit(used, false, memory_order_release);
}

static double cpu_of_thread(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Messages as the receiver gets them: whose memory is there already, since receiving it is not what is measured. */
static void *put_samples(void *arg)
{
    struct sample_params *params = sample_params_create(5);
    size_t size = FRAME_HEADER_SIZE + bytes, next = 0;
    size_t slots = size > 8192 ? 2 * capacity + 2 * POOL_PUT_MAX : 64; /* small ones are copied at once */
    int many = bytes > 65536 ? 1 : POOL_PUT_MAX;
    atomic_bool *used = calloc(slots, sizeof *used);
    char *memory = malloc(slots * size);

    must(memory != NULL && used != NULL, "no memory");
    memset(memory, 1, slots * size);
    put_cpu = -cpu_of_thread();
    for (long step = 0; !stop;) {
        struct sample *sample[POOL_PUT_MAX];
        int at = 0, n;

        for (int i = 0; i < many; i++) {
            zmq_msg_t msg;

            while (atomic_load_explicit(&used[next], memory_order_acquire))
                next = (next + 1) % slots;
            atomic_store_explicit(&used[next], true, memory_order_relaxed);
            zmq_msg_init_data(&msg, memory + next * size, size, release, &used[next]);
            next = (next + 1) % slots;
            sample[i] = sample_create(store, 0, step++, params);
            sample_take(sample[i], 0, (char *)zmq_msg_data(&msg) + FRAME_HEADER_SIZE, bytes, &msg);
            zmq_msg_close(&msg);
        }
        while (at < many && (n = pool_put(pool, sample + at, many - at)) >= 0) {
            at += n;
            if (at < many)
                pool_wait_for_room(pool);
        }
        for (; at < many; at++)
            sample_unref(sample[at]);
        atomic_fetch_add(&put, many);
    }
    put_cpu += cpu_of_thread();
    return NULL;
}

static double run_pool(char *batch, double seconds, double *drawn)
{
    struct field_set fields = {.count = 1, .field = {{.bytes = bytes}}};
    struct buffer_config config = {"reservoir", capacity, BATCH, BATCH, 7};
    struct error err;
    pthread_t thread;
    long draws = 0, put_before;
    double from;

    store = sample_store_create(&fields, NULL, 5);
    pool = pool_create(buffer_create(&config, &err), BATCH);
    must(pthread_create(&thread, NULL, put_samples, NULL) == 0, "no thread");
    while (put < (long)(2 * capacity)) {
        struct sample **taken;

        must(pool_take(pool, -1, &taken) == BATCH, "no batch");
        pool_done(pool);
    }
    from = now();
    put_before = put;
    draw_cpu = -cpu_of_thread();
    while (now() < from + seconds)
        for (int i = 0; i < (bytes > 65536 ? 1 : 100); i++, draws += BATCH) {
            struct sample **taken;

            must(pool_take(pool, -1, &taken) == BATCH, "no batch");
            for (int k = 0; k < BATCH; k++)
                copy_out(batch + (size_t)k * bytes, sample_payload(taken[k], 0), bytes);
            pool_done(pool);
        }
    draw_cpu = (draw_cpu + cpu_of_thread()) / (double)draws;
    seconds = now() - from;
    *drawn = (double)draws / seconds;
    put_before = put - put_before;
    stop = true;
    pool_stop(pool);
    pthread_join(thread, NULL);
    put_cpu /= (double)put;
    return (double)put_before / seconds;
}

static double run_memcpy(char *batch, double seconds)
{
    char *memory = malloc(capacity * bytes);
    struct random r;
    long copies = 0;
    double from;

    must(memory != NULL, "no memory");
    memset(memory, 1, capacity * bytes);
    random_seed(&r, 7);
    from = now();
    draw_cpu = -cpu_of_thread();
    while (now() < from + seconds)
        for (int i = 0; i < (bytes > 65536 ? 1 : 100); i++)
            for (int k = 0; k < BATCH; k++, copies++)
                memcpy(batch + (size_t)k * bytes, memory + random_below(&r, capacity) * bytes, bytes);
    draw_cpu = (draw_cpu + cpu_of_thread()) / (double)copies;
    seconds = now() - from;
    return (double)copies / seconds;
}

int main(int argc, char **argv)
{
    double seconds, puts, draws;
    char *batch;

    must(argc == 4 && atol(argv[2]) > 0, "usage: buffer_bench pool|memcpy BYTES SECONDS");
    bytes = (size_t)atol(argv[2]);
    seconds = atof(argv[3]);
    capacity = ((size_t)512 << 20) / bytes;
    if (capacity > 6000)
        capacity = 6000;
    batch = malloc(BATCH * bytes);
    must(batch != NULL, "no memory");
    memset(batch, 0, BATCH * bytes);
    if (strcmp(argv[1], "pool") == 0) {
        puts = run_pool(batch, seconds, &draws);
    } else {
        puts = draws = run_memcpy(batch, seconds);
    }
    printf("{\"put_per_second\": %.0f, \"drawn_per_second\": %.0f, \"gigabytes_per_second\": %.3f, "
           "\"put_cpu_us\": %.4f, \"draw_cpu_us\": %.4f}\n",
           puts, draws, draws * (double)bytes / 1e9, put_cpu * 1e6, draw_cpu * 1e6);
    return 0;
}
