#include "tasks/member/discovery.h"

#include "common/files.h"
#include "common/jsonx.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/alive.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POLL_FIRST_MS 10
#define POLL_MAX_MS 1000
#define SAY_AFTER_MS 30000

static int no_memory_for_ranks(struct error *err)
{
    return error_set(err, "stream_memory", "no memory for the addresses of the ranks");
}

/* Reads which generation is the current one. *keeps is the oldest one whose acknowledged frames it keeps. */
static int read_current(const char *stream, struct discovery *found, int64_t *keeps, struct error *err)
{
    char *path = alloc_printf("%s/current.json", stream);
    json_t *current = path != NULL ? file_read_json(path, err) : NULL;
    int64_t generation = 0, ranks = 0;
    int rc = -1;

    if (path == NULL)
        return no_memory_for_ranks(err);
    free(path);
    if (current != NULL && jsonx_int(current, "", "generation", JSONX_REQUIRED, 1, UINT32_MAX, &generation, err) == 0 &&
        jsonx_int(current, "", "ranks", JSONX_REQUIRED, 1, RANKS_MAX, &ranks, err) == 0) {
        *keeps = generation;
        rc = jsonx_int(current, "", "keeps", JSONX_OPTIONAL, 1, UINT32_MAX, keeps, err);
    }
    json_decref(current);
    found->generation = (uint32_t)generation;
    found->ranks = (int)ranks;
    return rc;
}

static int add_endpoint(struct rank_address *address, const char *endpoint, struct error *err)
{
    char **longer = reallocarray(address->endpoint, address->endpoints + 1, sizeof *address->endpoint);

    if (longer == NULL)
        return no_memory_for_ranks(err);
    address->endpoint = longer;
    address->endpoint[address->endpoints] = strdup(endpoint);
    if (address->endpoint[address->endpoints] == NULL)
        return no_memory_for_ranks(err);
    address->endpoints++;
    return 0;
}

/* Returns whether the rank is on this host. Two hosts, or containers, may have the same name, so the rank's socket must
 * be there as well. */
static bool is_rank_here(const json_t *rank, const char *socket)
{
    const char *host = json_string_value(json_object_get(rank, "host"));
    char here[HOST_NAME_MAX + 1] = "";

    gethostname(here, sizeof here - 1);
    return host != NULL && strcmp(host, here) == 0 && access(socket, F_OK) == 0;
}

/* Chooses the Unix socket of a rank on this host; for others, all addresses at which nobody can read the traffic. */
static int choose_endpoints(const json_t *rank, struct rank_address *address, struct error *err)
{
    const json_t *endpoints = json_object_get(rank, "endpoints"), *value;
    const char *curve = json_string_value(json_object_get(rank, "curve"));
    size_t i;

    json_array_foreach (endpoints, i, value) {
        const char *endpoint = json_string_value(value);

        if (endpoint != NULL && strncmp(endpoint, "ipc://", 6) == 0 && is_rank_here(rank, endpoint + 6))
            return add_endpoint(address, endpoint, err);
    }
    address->curve = curve != NULL ? strdup(curve) : NULL;
    if (curve != NULL && address->curve == NULL)
        return no_memory_for_ranks(err);
    json_array_foreach (endpoints, i, value) {
        const char *endpoint = json_string_value(value);

        if (endpoint != NULL && strncmp(endpoint, "tcp://", 6) == 0 &&
            (curve != NULL || strncmp(endpoint, "tcp://127.", 10) == 0) && add_endpoint(address, endpoint, err) < 0)
            return -1;
    }
    return 0;
}

static int read_rank_address(const char *stream, struct discovery *found, int rank, struct error *err)
{
    char *path = alloc_printf("%s/g%u-rank%d.json", stream, found->generation, rank);
    json_t *value = path != NULL ? file_read_json(path, err) : NULL;
    int rc;

    if (path == NULL)
        return no_memory_for_ranks(err);
    rc = value != NULL ? choose_endpoints(value, &found->address[rank], err) : -1;
    if (rc == 0 && found->address[rank].endpoints == 0)
        rc = error_set(err, "stream_endpoint", "%s has no endpoint that can be reached from this host", path);
    json_decref(value);
    free(path);
    return rc;
}

static void discovery_forget(struct discovery *found)
{
    for (int i = 0; found->address != NULL && i < found->ranks; i++) {
        struct rank_address *address = &found->address[i];

        for (size_t j = 0; j < address->endpoints; j++)
            free(address->endpoint[j]);
        free(address->endpoint);
        free(address->curve);
    }
    free(found->address);
    found->address = NULL;
}

static int read_ranks(const char *stream, struct discovery *found, struct error *err)
{
    found->address = calloc((size_t)found->ranks, sizeof *found->address);
    if (found->address == NULL)
        return no_memory_for_ranks(err);
    for (int i = 0; i < found->ranks; i++)
        if (read_rank_address(stream, found, i, err) < 0) {
            discovery_forget(found);
            return -1;
        }
    return 0;
}

static int discover(const char *stream, struct discovery *found, struct error *err)
{
    int64_t keeps;

    return read_current(stream, found, &keeps, err) == 0 ? read_ranks(stream, found, err) : -1;
}

bool discovery_later(const struct environment *env, uint32_t generation, struct discovery *found)
{
    struct error err;
    int64_t keeps;

    memset(found, 0, sizeof *found);
    return read_current(env->stream, found, &keeps, &err) == 0 && found->generation > generation &&
           keeps <= generation && read_ranks(env->stream, found, &err) == 0;
}

static void sleep_ms(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

int discovery_wait(const struct environment *env, int64_t until, struct discovery *found, struct error *err)
{
    int64_t now = time_monotonic_ms();

    if (found->began == 0) {
        found->began = found->next_look = now;
        found->pause = POLL_FIRST_MS;
    }
    for (;; now = time_monotonic_ms()) {
        int64_t left = environment_left_ms(env), wait;

        if (now >= found->next_look) {
            if (discover(env->stream, found, err) == 0)
                return 0;
            if (left == 0)
                return error_set(err, "stream_deadline",
                                 "the member's walltime ended before the training ranks were found: %s", err->text);
            found->next_look = now + (found->pause < left ? found->pause : left);
            found->pause = found->pause * 3 / 2 < POLL_MAX_MS ? found->pause * 3 / 2 : POLL_MAX_MS;
        }
        if (!found->said && now - found->began > SAY_AFTER_MS) {
            log_warn("still waiting for the training ranks: %s", err->text);
            found->said = true;
        }
        if (now >= until)
            return DISCOVERY_NOT_YET;
        alive_sign();
        wait = found->next_look < until ? found->next_look - now : until - now;
        if (alive_pause_ms() < wait)
            wait = alive_pause_ms();
        sleep_ms(wait > 0 ? wait : 0);
    }
}

void discovery_fini(struct discovery *found)
{
    discovery_forget(found);
    memset(found, 0, sizeof *found);
}
