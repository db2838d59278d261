/* The parts of the spec's parser that only its own files share. */
#ifndef DAEMON_SPEC_INTERNAL_H
#define DAEMON_SPEC_INTERNAL_H
#include "daemon/spec/spec.h"

/* Reads `resources` of obj (at `at`) into task. Missing ones get their defaults. Placeholders of a launcher are checked
 * against params (NULL if there are none). */
int spec_parse_resources(struct spec_task *task, const json_t *obj, const char *at, const struct params *params,
                         struct error *err);
/* Reads `silence` of obj. Its resources must have been read before. */
int spec_parse_silence(struct spec_task *task, const json_t *obj, const char *at, struct error *err);
/* Reads `command` and `env` of obj. Their placeholders are checked against params (NULL if there are none). */
int spec_parse_command(struct spec_task *task, const json_t *obj, const char *at, const struct params *params,
                       struct error *err);
/* Reads `follow_up`, once it is known whether there is a training. */
int spec_parse_follow_up(struct spec *spec, struct error *err);
int spec_parse_after(struct spec *spec, struct error *err);
/* Reads the object at /elastic, once all else is read. */
int spec_parse_elastic(struct spec *spec, const json_t *elastic, struct error *err);
/* Reads the object at /allocation. The members must have been read before. */
int spec_parse_allocation(struct spec *spec, const json_t *obj, struct error *err);
int spec_refill(struct spec *spec, struct error *err); /* reads `refill`, once all else is read */
/* Reads the object at /training, and fills in the buffer's defaults in the object itself. */
int spec_parse_training(struct spec *spec, json_t *obj, struct error *err);
/* Reads `early_stopping`, before the members. */
int spec_parse_stopping(struct spec *spec, struct error *err);
/* Reads `metrics`, `diverged` and `success` of members. */
int spec_parse_metrics(struct spec *spec, const json_t *members, struct error *err);
/* Reads `checkpoint` of members. Their resources must have been read before. */
int spec_parse_checkpoint(struct spec *spec, const json_t *members, struct error *err);
/* Reads `rules`; rules.h has the comparison with the reference. */
int spec_parse_rules(struct spec *spec, struct error *err);
/* Reads `artefacts` and `results` of members. Their parameters must have been read before. */
int spec_parse_results(struct spec *spec, const json_t *members, struct error *err);
/* Reads `checkpoint` of the training. Its resources must have been read before. */
int spec_parse_training_checkpoint(struct spec *spec, const json_t *training, struct error *err);
/* Returns whether the templates of members may have this placeholder. `params` is a struct params. */
bool spec_known_placeholder(void *params, const char *name);
/* Adds to an error about an unknown key the object of the spec in which that key belongs, if there is one. */
void spec_tell_home(struct error *err);
/* Checks that a path stays below a directory, which the error calls `what`: it is not absolute and has no "..". */
int spec_check_relative(const char *path, const char *pointer, const char *what, struct error *err);
#endif
