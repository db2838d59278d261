#include "tasks/train/endpoint.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "tasks/proto/frame.h"
#include "tasks/train/network.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

/* ZeroMQ may read so much ahead from each member while the buffer is full and nothing is taken out. */
#define AHEAD_BYTES ((uint64_t)4 << 20)
#define HELLO_MAX ((uint64_t)1 << 20)
#define BACKLOG 4096
#define HANDSHAKE_MS 3000   /* a connection without a handshake is closed after this; a member then connects again */
#define ENCRYPTION_BYTES 64 /* more than CURVE adds to a message, which ZeroMQ counts */

struct endpoint {
    void *socket;
    char *made_dir; /* removed at the end */
    char *path;     /* of the Unix socket */
    char *lock_path;
    int lock; /* held as long as this process is the rank */
    bool locked;
    json_t *names;              /* all endpoints */
    struct network_place place; /* where it was bound, for the next process of this rank */
    char key[NETWORK_KEY_SIZE]; /* public key of the endpoints on the network; "" if there are none */
};

static int no_memory_for_endpoint(struct error *err)
{
    return error_set(err, "train_memory", "no memory for the rank's endpoint");
}

/* Takes the place of the former process of this rank, which was killed. */
static int take_place(struct endpoint *e, const struct kept_head *head, struct error *err)
{
    e->place.again = true;
    e->place.ports = head->ports < KEPT_PORTS_MAX ? head->ports : KEPT_PORTS_MAX;
    memcpy(e->place.port, head->port, sizeof e->place.port);
    memcpy(e->place.public_key, head->public_key, sizeof e->place.public_key);
    memcpy(e->place.secret_key, head->secret_key, sizeof e->place.secret_key);
    e->path = strndup(head->path, sizeof head->path);
    return e->path != NULL ? 0 : no_memory_for_endpoint(err);
}

/* Notes the place for the next process, if this one is killed. */
static void leave_place(const struct endpoint *e, struct kept_head *head)
{
    snprintf(head->path, sizeof head->path, "%s", e->path);
    memcpy(head->port, e->place.port, sizeof head->port);
    memcpy(head->public_key, e->place.public_key, sizeof e->place.public_key);
    memcpy(head->secret_key, e->place.secret_key, sizeof e->place.secret_key);
    head->ports = (uint32_t)e->place.ports;
}

static int choose_path(struct endpoint *e, const struct train_config *config, struct error *err)
{
    const char *dir = getenv("STRETTO_TMPDIR");
    char made[] = "/tmp/stretto-XXXXXX";

    if (dir == NULL || *dir == '\0' || strlen(dir) + sizeof "/rank65536" > sizeof((struct sockaddr_un *)0)->sun_path) {
        if (mkdtemp(made) == NULL)
            return error_errno(err, "train_endpoint", "cannot make a directory for the socket in /tmp");
        e->made_dir = strdup(made);
        if (e->made_dir == NULL) {
            rmdir(made);
            return no_memory_for_endpoint(err);
        }
        dir = made;
    }
    e->path = alloc_printf("%s/rank%d", dir, config->rank);
    return e->path != NULL ? 0 : no_memory_for_endpoint(err);
}

/* Locks the socket's path: ZeroMQ would silently take over the socket of another process, and the messages of half of
 * the members would be lost. */
static int lock_path(struct endpoint *e, const struct train_config *config, struct error *err)
{
    e->lock_path = alloc_printf("%s.lock", e->path);
    if (e->lock_path == NULL)
        return no_memory_for_endpoint(err);
    e->lock = open(e->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (e->lock < 0)
        return error_errno(err, "train_endpoint", "cannot create %s", e->lock_path);
    if (flock(e->lock, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, "train_twice",
                         "another process is rank %d of this training already: stretto itself starts its command once "
                         "for each rank, so the command must not start processes by mpiexec, srun or torchrun",
                         config->rank);
    e->locked = true;
    return 0;
}

/* Returns the size of the largest message of a member: a large frame, or small ones together. */
static uint64_t largest_message(const struct train_config *config)
{
    uint64_t largest = 0;

    for (int i = 0; i < config->fields.count; i++) {
        uint64_t frame = FRAME_HEADER_SIZE + config->fields.field[i].bytes;

        if ((frame <= FRAME_SHARING_MAX || field_varies(&config->fields.field[i])) && frame < FRAME_SHARED_MAX)
            frame = FRAME_SHARED_MAX;
        if (frame > largest)
            largest = frame;
    }
    return largest;
}

/* Binds a loopback address, for tests and measurements: it is not encrypted, so no other address is allowed. */
static int bind_loopback(struct endpoint *e, struct error *err)
{
    const char *host = getenv("STRETTO_STREAM_TCP");
    char bound[128];

    if (host == NULL || *host == '\0')
        return 0;
    if (strncmp(host, "127.", 4) != 0 || strlen(host) > 15)
        return error_set(err, "train_endpoint", "STRETTO_STREAM_TCP takes a loopback address such as 127.0.0.1, not %s",
                         host);
    if (network_bind_host(e->socket, host, &e->place, bound, sizeof bound) < 0)
        return error_set(err, "train_endpoint", "cannot bind a port of %s: %s", host, zmq_strerror(zmq_errno()));
    return json_array_append_new(e->names, json_string(bound)) == 0 ? 0 : no_memory_for_endpoint(err);
}

static int bind_socket(struct endpoint *e, const struct train_config *config, void *zmq, struct error *err)
{
    uint64_t message = largest_message(config), ahead = AHEAD_BYTES / message;
    int64_t max = (int64_t)(message > HELLO_MAX ? message : HELLO_MAX) + ENCRYPTION_BYTES;
    int linger = 0, backlog = BACKLOG, handshake = HANDSHAKE_MS, hwm = ahead < 2 ? 2 : (int)ahead;
    char *name = alloc_printf("ipc://%s", e->path);
    int rc = 0;

    e->names = name != NULL ? json_pack("[s]", name) : NULL;
    if (e->names == NULL) {
        free(name);
        return no_memory_for_endpoint(err);
    }
    e->socket = zmq_socket(zmq, ZMQ_ROUTER);
    if (e->socket == NULL || zmq_setsockopt(e->socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        zmq_setsockopt(e->socket, ZMQ_RCVHWM, &hwm, sizeof hwm) != 0 ||
        zmq_setsockopt(e->socket, ZMQ_BACKLOG, &backlog, sizeof backlog) != 0 ||
        zmq_setsockopt(e->socket, ZMQ_HANDSHAKE_IVL, &handshake, sizeof handshake) != 0 ||
        zmq_setsockopt(e->socket, ZMQ_MAXMSGSIZE, &max, sizeof max) != 0 || zmq_bind(e->socket, name) != 0)
        rc = error_set(err, "train_endpoint", "cannot bind %s: %s", name, zmq_strerror(zmq_errno()));
    else
        chmod(e->path, 0600);
    free(name);
    return rc;
}

int endpoint_publish(const struct endpoint *e, const struct train_config *config, struct error *err)
{
    char host[HOST_NAME_MAX + 1] = "", *file;
    json_t *value;
    int rc;

    gethostname(host, sizeof host - 1);
    file = alloc_printf("%s/g%u-rank%d.json", config->stream, config->generation, config->rank);
    value = json_pack("{s:i, s:I, s:i, s:i, s:s, s:O}", "version", 1, "generation", (json_int_t)config->generation,
                      "rank", config->rank, "ranks", config->ranks, "host", host, "endpoints", e->names);
    if (file == NULL || value == NULL ||
        (*e->key != '\0' && json_object_set_new(value, "curve", json_string(e->key)) < 0))
        rc = no_memory_for_endpoint(err);
    else
        rc = file_write_json(file, value, 0600, err);
    json_decref(value);
    free(file);
    return rc;
}

struct endpoint *endpoint_create(const struct train_config *config, void *zmq, struct kept_head *head,
                                 struct error *err)
{
    bool again = head != NULL && config->restart > 0 && head->path[0] != '\0';
    struct endpoint *e = calloc(1, sizeof *e);

    if (e == NULL) {
        no_memory_for_endpoint(err);
        return NULL;
    }
    e->lock = -1;
    if ((again ? take_place(e, head, err) : choose_path(e, config, err)) == 0 && lock_path(e, config, err) == 0 &&
        bind_socket(e, config, zmq, err) == 0 && bind_loopback(e, err) == 0 &&
        (!config->network || network_bind(e->socket, config->interface, &e->place, e->names, err) == 0)) {
        memcpy(e->key, e->place.public_key, sizeof e->key);
        if (head != NULL)
            leave_place(e, head);
        return e;
    }
    endpoint_destroy(e);
    return NULL;
}

void endpoint_destroy(struct endpoint *e)
{
    if (e == NULL)
        return;
    if (e->socket != NULL)
        zmq_close(e->socket);
    if (e->socket != NULL)
        unlink(e->path); /* it is ours, because the lock was */
    if (e->locked)
        unlink(e->lock_path);
    if (e->lock >= 0)
        close(e->lock);
    json_decref(e->names);
    if (e->made_dir != NULL)
        rmdir(e->made_dir);
    free(e->made_dir);
    free(e->path);
    free(e->lock_path);
    explicit_bzero(&e->place, sizeof e->place);
    free(e);
}

void *endpoint_socket(const struct endpoint *e)
{
    return e->socket;
}
