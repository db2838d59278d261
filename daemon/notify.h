/* Reports the daemon's state to systemd: READY, STOPPING, STATUS and WATCHDOG. The protocol is a datagram to the socket
 * that NOTIFY_SOCKET names. sd_notify(3) documents it as stable and free to be implemented without libsystemd. Without
 * NOTIFY_SOCKET nothing is done. */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H
#include <uv.h>

struct notify;

/* Reads the variables from the environment and removes them, since members are not services. `status` is called now and
 * then, and fills in a sentence for `systemctl status`. */
struct notify *notify_create(uv_loop_t *loop, void (*status)(void *arg, char *out, size_t size), void *arg);

/* Reports that all parts run. From now on a timer of the loop feeds the watchdog, so that a stuck loop is noticed. */
void notify_ready(struct notify *notify);
void notify_stopping(struct notify *notify);
void notify_destroy(struct notify *notify); /* the loop closes its handle later */
#endif
