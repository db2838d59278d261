/* Shared by the files that check a spec. */
#ifndef DAEMON_SPEC_INTERNAL_H
#define DAEMON_SPEC_INTERNAL_H
#include "daemon/spec/spec.h"

/* `resources` of obj (at `at`) into task, defaults where it is missing. */
int spec_parse_resources(struct spec_task *task, const json_t *obj, const char *at, struct error *err);
/* `silence` of obj, after its resources. */
int spec_parse_silence(struct spec_task *task, const json_t *obj, const char *at, struct error *err);
/* `command` and `env` of obj; placeholders are checked against params (NULL: none are known). */
int spec_parse_command(struct spec_task *task, const json_t *obj, const char *at, const struct params *params,
                       struct error *err);
/* `follow_up`, once it is known whether there is a training. */
int spec_parse_follow_up(struct spec *spec, struct error *err);
/* The allocation object at /allocation, after the members. */
int spec_parse_allocation(struct spec *spec, const json_t *obj, struct error *err);
int spec_refill(struct spec *spec, struct error *err); /* once all else is parsed */
/* The training object at /training. Fills in the buffer's defaults in the object itself. */
int spec_parse_training(struct spec *spec, json_t *obj, struct error *err);
/* `checkpoint` of members; after their resources. */
int spec_parse_checkpoint(struct spec *spec, const json_t *members, struct error *err);
/* Is it one that members' templates may have? `params` is a struct params. */
bool spec_known_placeholder(void *params, const char *name);
/* A path below a directory that is called `what`: not absolute, and not leaving it. */
int spec_check_relative(const char *path, const char *pointer, const char *what, struct error *err);
#endif
