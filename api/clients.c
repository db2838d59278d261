#include "api/clients.h"

#include "api/limits.h"
#include "common/stretto_assert.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <utlist.h>

enum client_state { CLIENT_STRANGER, CLIENT_KNOWN, CLIENT_EVICTED };

struct http_client {
    enum client_state state;
    int fd;
    uint64_t since; /* time of the connection by the loop's clock */
    bool answering;
    struct http_client *prev, *next;
};

struct clients {
    uv_loop_t *loop;
    uv_timer_t timer; /* runs while there are strangers, until the oldest must go */
    bool looked;      /* MHD has read what came since the timer rang */
    unsigned strangers_max, known_max;
    struct clients_counts counts, *total;
    struct http_client *strangers; /* the oldest comes first */
};

struct clients *clients_create(uv_loop_t *loop, unsigned max, struct clients_counts *total)
{
    struct clients *clients = xcalloc(1, sizeof *clients);

    clients->loop = loop;
    clients->total = total;
    clients->strangers_max = max / 4 < LIMIT_STRANGERS ? max / 4 : LIMIT_STRANGERS;
    if (clients->strangers_max == 0)
        clients->strangers_max = 1;
    clients->known_max = max > clients->strangers_max ? max - clients->strangers_max : 1;
    uv_timer_init(loop, &clients->timer);
    clients->timer.data = clients;
    return clients;
}

static void free_clients_timer(uv_handle_t *handle)
{
    free(handle->data);
}

void clients_destroy(struct clients *clients)
{
    if (clients != NULL)
        uv_close((uv_handle_t *)&clients->timer, free_clients_timer);
}

static void count_strangers(struct clients *clients, int n)
{
    stretto_assert(n > 0 || clients->counts.strangers > 0);
    clients->counts.strangers += (unsigned)n;
    clients->total->strangers += (unsigned)n;
}

static void count_known(struct clients *clients, int n)
{
    stretto_assert(n > 0 || clients->counts.known > 0);
    clients->counts.known += (unsigned)n;
    clients->total->known += (unsigned)n;
}

static void leave_strangers(struct clients *clients, struct http_client *client, enum client_state state)
{
    stretto_assert(client->state == CLIENT_STRANGER);
    DL_DELETE(clients->strangers, client);
    count_strangers(clients, -1);
    client->state = state;
}

/* Shuts a connection down. Its owner then closes it as it does when the client hangs up. */
static void evict(struct clients *clients, struct http_client *client)
{
    leave_strangers(clients, client, CLIENT_EVICTED);
    clients->counts.evicted++;
    clients->total->evicted++;
    shutdown(client->fd, SHUT_RDWR);
}

/* Returns the oldest stranger that is not being answered, or the oldest of all if all are. */
static struct http_client *least_wanted(const struct clients *clients)
{
    struct http_client *client;

    DL_FOREACH (clients->strangers, client) {
        if (!client->answering)
            return client;
    }
    return clients->strangers;
}

static void end_time_of(struct clients *clients, struct http_client *client, uint64_t now)
{
    if (!client->answering) {
        evict(clients, client);
        return;
    }
    DL_DELETE(clients->strangers, client);
    client->since = now;
    DL_APPEND(clients->strangers, client);
}

/* If the daemon was held up, the timer rings before it has read what strangers have sent meanwhile, so it reads
 * first. */
static void evict_strangers(uv_timer_t *timer)
{
    struct clients *clients = timer->data;
    uint64_t now = uv_now(clients->loop);

    clients->looked = !clients->looked;
    if (clients->looked) {
        uv_timer_start(timer, evict_strangers, 1, 0);
        return;
    }
    while (clients->strangers != NULL && now - clients->strangers->since >= LIMIT_STRANGER_MS)
        end_time_of(clients, clients->strangers, now);
    if (clients->strangers != NULL)
        uv_timer_start(timer, evict_strangers, clients->strangers->since + LIMIT_STRANGER_MS - now, 0);
}

struct http_client *clients_add(struct clients *clients, int fd)
{
    struct http_client *client = xcalloc(1, sizeof *client);

    client->fd = fd;
    client->since = uv_now(clients->loop);
    if (clients->counts.strangers == clients->strangers_max)
        evict(clients, least_wanted(clients));
    DL_APPEND(clients->strangers, client);
    count_strangers(clients, 1);
    if (!uv_is_active((uv_handle_t *)&clients->timer))
        uv_timer_start(&clients->timer, evict_strangers, LIMIT_STRANGER_MS, 0);
    return client;
}

void clients_answer(struct clients *clients, struct http_client *client, bool answering)
{
    client->answering = answering;
}

bool clients_admit(struct clients *clients, struct http_client *client)
{
    if (client->state != CLIENT_STRANGER)
        return true;
    if (clients->counts.known == clients->known_max)
        return false;
    leave_strangers(clients, client, CLIENT_KNOWN);
    count_known(clients, 1);
    return true;
}

void clients_remove(struct clients *clients, struct http_client *client)
{
    if (client->state == CLIENT_STRANGER)
        leave_strangers(clients, client, CLIENT_EVICTED);
    else if (client->state == CLIENT_KNOWN)
        count_known(clients, -1);
    free(client);
}
