/* What the log needs of the loop: a new file on SIGHUP, and a look now and then at what was left out. */
#ifndef DAEMON_LOGS_H
#define DAEMON_LOGS_H
#include <uv.h>

struct logs;

struct logs *logs_create(uv_loop_t *loop);
void logs_destroy(struct logs *logs); /* its handles close as the loop goes on */
#endif
