#include "tests/unit/stream_proxy.h"

#include "tasks/train/random.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zmq.h>

struct proxy {
    void *zmq, *front, *back;
    struct proxy_losses losses;
    unsigned passed[2], lost; /* passed: all that came, to the rank and to the member */
    struct random random;
    atomic_bool stopping;
    pthread_t thread;
};

static void forward(struct proxy *p, void *from, void *to)
{
    zmq_msg_t msg;

    zmq_msg_init(&msg);
    while (zmq_msg_recv(&msg, from, ZMQ_DONTWAIT) >= 0) {
        bool to_rank = from == p->front;
        bool lose = random_below(&p->random, 100) < p->losses.percent;

        lose = ++p->passed[to_rank] == (to_rank ? p->losses.to_rank : p->losses.to_member) || lose;
        /* A side that has gone gets nothing more: a send that waited for it would never end. */
        if (lose)
            p->lost++;
        else
            zmq_msg_send(&msg, to, ZMQ_DONTWAIT);
    }
    zmq_msg_close(&msg);
}

static void *run(void *arg)
{
    struct proxy *p = arg;

    while (!atomic_load(&p->stopping)) {
        zmq_pollitem_t items[] = {{.socket = p->front, .events = ZMQ_POLLIN},
                                  {.socket = p->back, .events = ZMQ_POLLIN}};

        zmq_poll(items, 2, 20);
        forward(p, p->front, p->back);
        forward(p, p->back, p->front);
    }
    return NULL;
}

struct proxy *proxy_start(const char *front, const char *back, const struct proxy_losses *losses)
{
    struct proxy *p = calloc(1, sizeof *p);
    int linger = 0;

    p->losses = *losses;
    random_seed(&p->random, losses->seed);
    p->zmq = zmq_ctx_new();
    p->front = zmq_socket(p->zmq, ZMQ_DEALER);
    p->back = zmq_socket(p->zmq, ZMQ_DEALER);
    zmq_setsockopt(p->front, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(p->back, ZMQ_LINGER, &linger, sizeof linger);
    assert_int_equal(zmq_bind(p->front, front), 0);
    assert_int_equal(zmq_connect(p->back, back), 0);
    assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
    return p;
}

unsigned proxy_stop(struct proxy *p)
{
    unsigned lost;

    atomic_store(&p->stopping, true);
    pthread_join(p->thread, NULL);
    lost = p->lost;
    zmq_close(p->front);
    zmq_close(p->back);
    zmq_ctx_term(p->zmq);
    free(p);
    return lost;
}
