#include "tests/bench/stream_rig.h"

#include "tasks/member/stretto.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEY "9f86d081884c7d65"

void die(const char *why)
{
    fprintf(stderr, "stream_bench: %s\n", why);
    exit(1);
}

void must(bool held, const char *why)
{
    if (!held)
        die(why);
}

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

enum rig_transport rig_transport(const char *name)
{
    static const char *const names[] = {[RIG_MEMORY] = "memory", [RIG_IPC] = "ipc", [RIG_TCP] = "tcp", [RIG_CURVE] = "curve"};

    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum rig_transport)i;
    die("a transport is memory, ipc, tcp or curve");
}

static void write_file(const struct rig *rig, const char *name, const char *text)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", rig->dir, name);
    f = fopen(path, "w");
    must(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "cannot write into the temporary directory");
}

void rig_init(struct rig *rig)
{
    char fields[128], text[1024];

    rig->capacity = ((size_t)512 << 20) / rig->bytes;
    if (rig->capacity > 6000)
        rig->capacity = 6000;
    snprintf(rig->dir, sizeof rig->dir, "/tmp/stretto-bench-XXXXXX");
    must(mkdtemp(rig->dir) != NULL, "cannot make a temporary directory");
    snprintf(fields, sizeof fields, "{\"u\": {\"dtype\": \"float32\", \"shape\": [%zu]}}", rig->bytes / sizeof(float));
    snprintf(text, sizeof text,
             "{\"version\": 1, \"ensemble\": 7, \"training\": 1, \"job\": \"st-0-1\", \"generation\": 1, \"ranks\": 1, "
             "\"count\": %ld, \"stream\": \"%s\", \"stream_key\": \"" KEY "\", \"parameters\": [], \"fields\": %s, "
             "\"buffer\": {\"policy\": \"reservoir\", \"capacity\": %zu, \"threshold\": %d, \"batch\": %d, "
             "\"seed\": 7}%s}",
             rig->senders, rig->dir, fields, rig->capacity, RIG_BATCH, RIG_BATCH,
             rig->transport == RIG_CURVE ? ", \"network\": true, \"interface\": \"lo\"" : "");
    write_file(rig, "training.json", text);
    write_file(rig, "current.json", "{\"version\": 1, \"generation\": 1, \"ranks\": 1}");
    setenv("STRETTO_TRAINING_DIR", rig->dir, 1);
    setenv("STRETTO_TMPDIR", rig->dir, 1);
    setenv("STRETTO_RANK", "0", 1);
    setenv("STRETTO_STREAM", rig->dir, 1);
    setenv("STRETTO_STREAM_KEY", KEY, 1);
    setenv("STRETTO_ENSEMBLE", "7", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{}", 1);
    setenv("STRETTO_FIELDS", fields, 1);
    setenv("STRETTO_STREAM_MEMORY", rig->transport == RIG_MEMORY ? "1" : "0", 1);
    if (rig->transport == RIG_TCP)
        setenv("STRETTO_STREAM_TCP", "127.0.0.1", 1);
}

void rig_offer(const struct rig *rig)
{
    char path[160];
    json_t *rank;

    if (rig->transport == RIG_MEMORY || rig->transport == RIG_IPC)
        return;
    snprintf(path, sizeof path, "%s/g1-rank0.json", rig->dir);
    rank = json_load_file(path, 0, NULL);
    must(rank != NULL && json_object_set_new(rank, "host", json_string("elsewhere")) == 0 &&
             json_dump_file(rank, path, 0) == 0,
         "no endpoint");
    must((rig->transport == RIG_CURVE) == (json_object_get(rank, "curve") != NULL), "not the endpoint that was asked for");
    json_decref(rank);
}

void rig_over(const struct rig *rig)
{
    write_file(rig, "reception.json", "{\"version\": 1, \"over\": true, \"succeeded\": 1, \"other\": 0}");
}

int rig_remove(const struct rig *rig)
{
    fflush(stdout);
    return execlp("rm", "rm", "-rf", rig->dir, NULL);
}

void rig_send(const struct rig *rig, long member, const float *data, long steps)
{
    int64_t shape[] = {(int64_t)(rig->bytes / sizeof(float))};
    struct stretto *s;
    char text[24];
    int u;

    snprintf(text, sizeof text, "%ld", member);
    setenv("STRETTO_MEMBER", text, 1);
    if (stretto_open(&s) != 0)
        die(stretto_error(s));
    u = stretto_field(s, "u", STRETTO_FLOAT32, 1, shape);
    must(u >= 0, stretto_error(s));
    for (long i = 0; i < steps; i++)
        if (stretto_send(s, u, i, data) != 0)
            die(stretto_error(s));
    must(stretto_close(s) == 0, "not everything was acknowledged");
}
