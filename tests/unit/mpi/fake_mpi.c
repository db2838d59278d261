#include "tests/unit/mpi/mpi.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 8
#define COMMS_MAX 16
#define CALLS_MAX 4096
#define TYPES_MAX 1024
#define REQUESTS_MAX 1024
#define NDIM_MAX 4
#define FIRST_DERIVED 16

/* A collective call, which the ranks reach at different times. */
struct call {
    const char *name;
    size_t bytes; /* of a rank */
    int root, arrived;
    bool told; /* the root has arrived */
    unsigned char *data;
};

/* Sends and receives until both are over, and broadcasts that go on. */
struct request {
    enum { FREE, SEND, RECEIVE, BROADCAST } kind;
    int rank, peer, tag;
    MPI_Comm comm;
    MPI_Datatype type;
    int n;
    void *data;
    unsigned char *packed; /* what was in `data` at first; of a receive, what has come */
    size_t bytes;
    bool done;
    struct call *call;
    unsigned long number; /* in the order in which they were made */
};

struct type {
    bool used, committed;
    int ndim, sizes[NDIM_MAX], part[NDIM_MAX], at[NDIM_MAX];
    size_t element;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned long changes, requests;
    int ranks, running, waiting;
    void (*program)(int rank, int ranks);
    struct call call[COMMS_MAX][CALLS_MAX];
    struct request request[REQUESTS_MAX];
    struct type type[TYPES_MAX];
} world = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local struct {
    int rank, calls[COMMS_MAX];
    int comms, freed;
} me;

void fake_mpi_fail(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "process %d of %d: ", me.rank, world.ranks);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

/* Tells the others that something they may wait for has come. */
static void change(void)
{
    world.changes++;
    world.waiting = 0;
    pthread_cond_broadcast(&world.changed);
}

static void check_stuck(void)
{
    if (world.running > 0 && world.waiting == world.running)
        fake_mpi_fail("all processes wait for each other");
}

/* Waits for a change: called with the lock held, once the caller has seen that it cannot go on. */
static void wait_for_change(void)
{
    unsigned long seen = world.changes;

    world.waiting++;
    check_stuck();
    while (seen == world.changes)
        pthread_cond_wait(&world.changed, &world.lock);
}

static size_t basic_size(MPI_Datatype type)
{
    static const size_t sizes[] = {0, 1, sizeof(int), 4, 8, 4, 8, 1, 2};

    return type > 0 && (size_t)type < sizeof sizes / sizeof *sizes ? sizes[type] : 0;
}

static struct type *derived(MPI_Datatype type)
{
    struct type *t = type >= FIRST_DERIVED && type < TYPES_MAX ? &world.type[type] : NULL;

    if (t == NULL || !t->used)
        fake_mpi_fail("%d is no type", type);
    return t;
}

static size_t type_size(MPI_Datatype type)
{
    size_t size = basic_size(type);
    struct type *t;

    if (size > 0)
        return size;
    t = derived(type);
    size = t->element;
    for (int d = 0; d < t->ndim; d++)
        size *= (size_t)t->part[d];
    return size;
}

/* Copies one element of a type from or to packed bytes. Returns how many. */
static size_t copy_one(const struct type *t, int d, unsigned char *memory, unsigned char *packed, bool pack)
{
    size_t below = t->element, copied = 0;

    if (d == t->ndim) {
        memcpy(pack ? packed : memory, pack ? memory : packed, t->element);
        return t->element;
    }
    for (int e = d + 1; e < t->ndim; e++)
        below *= (size_t)t->sizes[e];
    for (int i = 0; i < t->part[d]; i++)
        copied += copy_one(t, d + 1, memory + (size_t)(t->at[d] + i) * below, packed + copied, pack);
    return copied;
}

static void copy(void *memory, int n, MPI_Datatype type, unsigned char *packed, bool pack)
{
    size_t size = basic_size(type), extent;
    struct type *t;

    if (size > 0) {
        memcpy(pack ? packed : memory, pack ? memory : packed, size * (size_t)n);
        return;
    }
    t = derived(type);
    if (!t->committed)
        fake_mpi_fail("a type is used before it is committed");
    extent = t->element;
    for (int d = 0; d < t->ndim; d++)
        extent *= (size_t)t->sizes[d];
    for (int i = 0; i < n; i++)
        packed += copy_one(t, 0, (unsigned char *)memory + (size_t)i * extent, packed, pack);
}

/* The calling rank's next collective call on the communicator. */
static struct call *enter(MPI_Comm comm, const char *name, size_t bytes, int root)
{
    struct call *call;

    if (comm < MPI_COMM_WORLD || comm >= COMMS_MAX || me.calls[comm] == CALLS_MAX)
        fake_mpi_fail("no such communicator, or too many calls on it");
    call = &world.call[comm][me.calls[comm]++];
    if (call->arrived == 0) {
        *call = (struct call){.name = name, .bytes = bytes, .root = root};
        call->data = calloc((size_t)world.ranks, bytes);
    }
    if (strcmp(call->name, name) != 0 || call->bytes != bytes || call->root != root)
        fake_mpi_fail("%s of %zu bytes, where another process calls %s of %zu bytes", name, bytes, call->name,
                      call->bytes);
    call->arrived++;
    return call;
}

static struct request *new_request(MPI_Request *out)
{
    for (int i = 1; i < REQUESTS_MAX; i++)
        if (world.request[i].kind == FREE) {
            world.request[i] = (struct request){.rank = me.rank, .number = world.requests++};
            *out = i;
            return &world.request[i];
        }
    fake_mpi_fail("too many requests");
}

/* Joins sends and receives that belong together, the eldest first. */
static void match(void)
{
    for (int i = 1; i < REQUESTS_MAX; i++) {
        struct request *send = NULL, *receive = &world.request[i];
        bool first = receive->kind == RECEIVE && !receive->done;

        for (int j = 1; first && j < REQUESTS_MAX; j++) {
            struct request *r = &world.request[j];

            if (r->kind == RECEIVE && !r->done && r->rank == receive->rank && r->peer == receive->peer &&
                r->tag == receive->tag && r->comm == receive->comm && r->number < receive->number)
                first = false;
            if (r->kind == SEND && !r->done && r->rank == receive->peer && r->peer == receive->rank &&
                r->tag == receive->tag && r->comm == receive->comm && (send == NULL || r->number < send->number))
                send = r;
        }
        if (!first || send == NULL)
            continue;
        if (send->bytes != receive->bytes)
            fake_mpi_fail("process %d sends %zu bytes, and process %d receives %zu", send->rank, send->bytes,
                          receive->rank, receive->bytes);
        receive->packed = malloc(send->bytes + 1);
        memcpy(receive->packed, send->packed, send->bytes);
        send->done = receive->done = true;
        change();
    }
}

static void start(int kind, const void *data, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *out)
{
    struct request *r;

    pthread_mutex_lock(&world.lock);
    r = new_request(out);
    if (n < 0 || peer < 0 || peer >= world.ranks)
        fake_mpi_fail("a message of %d to process %d", n, peer);
    r->kind = kind == SEND ? SEND : RECEIVE;
    r->peer = peer;
    r->tag = tag;
    r->comm = comm;
    r->type = type;
    r->n = n;
    memcpy(&r->data, &data, sizeof data);
    r->bytes = (size_t)n * type_size(type);
    if (kind == SEND) {
        r->packed = malloc(r->bytes + 1);
        copy(r->data, n, type, r->packed, true);
    }
    match();
    pthread_mutex_unlock(&world.lock);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct request *r = *request > 0 && *request < REQUESTS_MAX ? &world.request[*request] : NULL;
    unsigned char *now;

    if (status != MPI_STATUS_IGNORE)
        fake_mpi_fail("there is no status");
    if (r == NULL)
        return 0;
    pthread_mutex_lock(&world.lock);
    if (r->kind == FREE || r->rank != me.rank)
        fake_mpi_fail("%d is no request", *request);
    while (!r->done && !(r->kind == BROADCAST && r->call->told))
        wait_for_change();
    if (r->kind == RECEIVE)
        copy(r->data, r->n, r->type, r->packed, false);
    else if (r->kind == BROADCAST && me.rank != r->call->root)
        memcpy(r->data, r->call->data, r->bytes);
    if (r->kind == SEND || (r->kind == BROADCAST && me.rank == r->call->root)) {
        now = malloc(r->bytes + 1);
        copy(r->data, r->n, r->type, now, true);
        if (memcmp(now, r->kind == SEND ? r->packed : r->call->data, r->bytes) != 0)
            fake_mpi_fail("memory was changed while it was sent");
        free(now);
    }
    free(r->packed);
    r->kind = FREE;
    *request = MPI_REQUEST_NULL;
    pthread_mutex_unlock(&world.lock);
    return 0;
}

int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    start(SEND, data, n, type, to, tag, comm, request);
    return 0;
}

int MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    start(RECEIVE, data, n, type, from, tag, comm, request);
    return 0;
}

int MPI_Send(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    MPI_Request request;

    MPI_Isend(data, n, type, to, tag, comm, &request);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int MPI_Recv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request request;

    MPI_Irecv(data, n, type, from, tag, comm, &request);
    return MPI_Wait(&request, status);
}

int MPI_Ibcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    struct request *r;

    pthread_mutex_lock(&world.lock);
    r = new_request(request);
    r->kind = BROADCAST;
    r->data = data;
    r->n = n;
    r->type = type;
    r->bytes = (size_t)n * type_size(type);
    r->call = enter(comm, "MPI_Ibcast", r->bytes, root);
    if (me.rank == root) {
        copy(data, n, type, r->call->data, true);
        r->call->told = true;
        change();
    }
    pthread_mutex_unlock(&world.lock);
    return 0;
}

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct call *call;

    pthread_mutex_lock(&world.lock);
    call = enter(comm, "MPI_Bcast", (size_t)n * type_size(type), root);
    if (me.rank == root) {
        copy(data, n, type, call->data, true);
        call->told = true;
        change();
    }
    while (!call->told)
        wait_for_change();
    copy(data, n, type, call->data, false);
    pthread_mutex_unlock(&world.lock);
    return 0;
}

int MPI_Gather(const void *data, int n, MPI_Datatype type, void *all, int each, MPI_Datatype all_type, int root,
               MPI_Comm comm)
{
    size_t bytes = (size_t)n * type_size(type);
    struct call *call;

    pthread_mutex_lock(&world.lock);
    call = enter(comm, "MPI_Gather", bytes, root);
    memcpy(call->data + (size_t)me.rank * bytes, data, bytes);
    change();
    if (me.rank == root) {
        if (bytes != (size_t)each * type_size(all_type))
            fake_mpi_fail("MPI_Gather of two sizes");
        while (call->arrived < world.ranks)
            wait_for_change();
        memcpy(all, call->data, (size_t)world.ranks * bytes);
    }
    pthread_mutex_unlock(&world.lock);
    return 0;
}

int MPI_Allreduce(const void *data, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct call *call;
    int *values = out;

    if (data != MPI_IN_PLACE || type != MPI_INT || op != MPI_MAX)
        fake_mpi_fail("MPI_Allreduce is only for the greatest of integers, in place");
    pthread_mutex_lock(&world.lock);
    call = enter(comm, "MPI_Allreduce", (size_t)n * sizeof(int), 0);
    memcpy(call->data + (size_t)me.rank * call->bytes, out, call->bytes);
    change();
    while (call->arrived < world.ranks)
        wait_for_change();
    for (int r = 0; r < world.ranks; r++)
        for (int i = 0; i < n; i++) {
            int its;

            memcpy(&its, call->data + (size_t)r * call->bytes + (size_t)i * sizeof its, sizeof its);
            values[i] = its > values[i] ? its : values[i];
        }
    pthread_mutex_unlock(&world.lock);
    return 0;
}

static int new_type(struct type type, MPI_Datatype *out)
{
    pthread_mutex_lock(&world.lock);
    for (int i = FIRST_DERIVED; i < TYPES_MAX; i++)
        if (!world.type[i].used) {
            world.type[i] = type;
            world.type[i].used = true;
            *out = i;
            pthread_mutex_unlock(&world.lock);
            return 0;
        }
    fake_mpi_fail("too many types");
}

int MPI_Type_create_subarray(int ndim, const int *sizes, const int *part, const int *at, int order, MPI_Datatype of,
                             MPI_Datatype *out)
{
    struct type type = {.ndim = ndim, .element = basic_size(of)};

    if (ndim < 1 || ndim > NDIM_MAX || order != MPI_ORDER_C || type.element == 0)
        fake_mpi_fail("a part of an array with %d dimensions, of type %d", ndim, of);
    for (int d = 0; d < ndim; d++) {
        if (part[d] < 1 || at[d] < 0 || at[d] + part[d] > sizes[d])
            fake_mpi_fail("dimension %d: %d at %d of %d is no part of an array", d, part[d], at[d], sizes[d]);
        type.sizes[d] = sizes[d];
        type.part[d] = part[d];
        type.at[d] = at[d];
    }
    return new_type(type, out);
}

int MPI_Type_contiguous(int n, MPI_Datatype of, MPI_Datatype *out)
{
    if (n < 0 || basic_size(of) == 0)
        fake_mpi_fail("%d of type %d", n, of);
    return new_type((struct type){.ndim = 1, .sizes = {n}, .part = {n}, .element = basic_size(of)}, out);
}

int MPI_Type_commit(MPI_Datatype *type)
{
    pthread_mutex_lock(&world.lock);
    derived(*type)->committed = true;
    pthread_mutex_unlock(&world.lock);
    return 0;
}

int MPI_Type_free(MPI_Datatype *type)
{
    pthread_mutex_lock(&world.lock);
    derived(*type)->used = false;
    *type = MPI_DATATYPE_NULL;
    pthread_mutex_unlock(&world.lock);
    return 0;
}

int MPI_Type_size(MPI_Datatype type, int *size)
{
    pthread_mutex_lock(&world.lock);
    *size = (int)type_size(type);
    pthread_mutex_unlock(&world.lock);
    return 0;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out)
{
    pthread_mutex_lock(&world.lock);
    enter(comm, "MPI_Comm_dup", 1, 0);
    pthread_mutex_unlock(&world.lock);
    *out = MPI_COMM_WORLD + ++me.comms;
    return 0;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    me.freed++;
    *comm = 0;
    return 0;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = me.rank;
    return 0;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = world.ranks;
    return 0;
}

MPI_Comm MPI_Comm_f2c(MPI_Fint comm)
{
    return comm;
}

int MPI_Abort(MPI_Comm comm, int status)
{
    (void)comm;
    fake_mpi_fail("MPI_Abort with status %d", status);
}

static void *run(void *arg)
{
    memset(&me, 0, sizeof me);
    me.rank = (int)(intptr_t)arg;
    world.program(me.rank, world.ranks);
    if (me.comms != me.freed)
        fake_mpi_fail("%d communicators are made, and %d freed", me.comms, me.freed);
    pthread_mutex_lock(&world.lock);
    world.running--;
    check_stuck();
    pthread_mutex_unlock(&world.lock);
    return NULL;
}

void fake_mpi_run(int ranks, void (*program)(int rank, int ranks))
{
    pthread_t thread[RANKS_MAX];

    world.ranks = world.running = ranks;
    world.waiting = 0;
    world.program = program;
    memset(world.call, 0, sizeof world.call);
    for (int r = 0; r < ranks; r++)
        if (pthread_create(&thread[r], NULL, run, (void *)(intptr_t)r) != 0)
            abort();
    for (int r = 0; r < ranks; r++)
        pthread_join(thread[r], NULL);
    for (int c = 0; c < COMMS_MAX; c++)
        for (int i = 0; i < CALLS_MAX && world.call[c][i].name != NULL; i++) {
            if (world.call[c][i].arrived != ranks)
                fake_mpi_fail("%s was called by %d processes only", world.call[c][i].name, world.call[c][i].arrived);
            free(world.call[c][i].data);
        }
    for (int i = 0; i < REQUESTS_MAX; i++)
        if (world.request[i].kind != FREE)
            fake_mpi_fail("a request is left");
    for (int i = 0; i < TYPES_MAX; i++)
        if (world.type[i].used)
            fake_mpi_fail("a type is left");
}
