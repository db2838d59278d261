/* Telling systemd how the daemon is doing: READY, STOPPING, STATUS and WATCHDOG, by sd_notify(3)'s protocol, which is
 * one datagram to the socket that NOTIFY_SOCKET names, and documented to be stable and free to be spoken without
 * libsystemd. Without NOTIFY_SOCKET nothing here does anything. */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H
#include <uv.h>

struct notify;

/* Reads the environment, and takes the variables out of it: members are no services. `status`, called now and then,
 * fills in a sentence for `systemctl status`. */
struct notify *notify_create(uv_loop_t *loop, void (*status)(void *arg, char *out, size_t size), void *arg);

/* All is up. From here on the watchdog is fed from the loop: a loop that is stuck feeds none. */
void notify_ready(struct notify *notify);
void notify_stopping(struct notify *notify);
void notify_destroy(struct notify *notify); /* its handle closes as the loop goes on */
#endif
