/* Connects the log to the loop: opens the file again on SIGHUP, and reports now and then how many lines were left
 * out. */
#ifndef DAEMON_LOGS_H
#define DAEMON_LOGS_H
#include <uv.h>

struct logs;

struct logs *logs_create(uv_loop_t *loop);
void logs_destroy(struct logs *logs); /* the loop closes its handles later */
#endif
