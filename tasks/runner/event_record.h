/* Records of TensorBoard's event files: TFRecords, each with an event (a message in protobuf's encoding), of which
 * scalars are taken. They may hold anything; every function reads within the bounds that it is given. */
#ifndef TASKS_RUNNER_EVENT_RECORD_H
#define TASKS_RUNNER_EVENT_RECORD_H
#include "tasks/runner/metric_line.h"

#include <stddef.h>

#define EVENT_HEADER 12 /* bytes of a length and its checksum */
#define EVENT_FOOTER 4  /* bytes of a checksum, behind the event */

/* Returns the masked CRC32C that stands behind data. */
uint32_t event_checksum(const unsigned char *data, size_t size);

/* Reads the length of an event. Returns -1 if the checksum is wrong. */
int event_length(const unsigned char header[EVENT_HEADER], uint64_t *length);
/* Returns whether the checksum behind an event is right. */
bool event_is_whole(const unsigned char *event, size_t size);

/* Reads the scalars of an event: of its summary, those that are plain numbers, and tensors of one number. Each is named
 * by its tag, behind `prefix`. Returns 0, also if there is none, or -1 with *why, a phrase. */
int event_read(const unsigned char *event, size_t size, const char *prefix, struct metric_line *line, const char **why);
#endif
