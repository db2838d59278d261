/* The hosts that one task has, and how many of its processes each of them takes. */
#ifndef TASKS_RUNNER_HOSTS_H
#define TASKS_RUNNER_HOSTS_H
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

#define HOSTS_NAME_MAX 255
#define HOSTS_MAX 65536

struct host {
    char name[HOSTS_NAME_MAX + 1];
    int64_t slots;
};

struct hosts {
    struct host *list;
    size_t n, room;
};

/* Finds the hosts of a task of so many processes on so many nodes: this one, or those that the batch system names in
 * the environment. The processes are as the batch system has counted them, or else spread evenly, with one more on
 * the first hosts. The caller frees the result by hosts_fini(). Fails if the batch system names another number. */
int hosts_find(struct hosts *hosts, int64_t nodes, int64_t ntasks, struct error *err);

/* Reads a host list of Slurm's, such as "n[01-03,7],login". Returns 0, or -1 if the text is no such list. */
int hosts_expand(struct hosts *hosts, const char *nodelist);

/* Reads a list such as "a:2,b:1". Returns 0, or -1 if the text is no such list. */
int hosts_parse(struct hosts *hosts, const char *text);

/* Returns "a:2,b:1", with that character in between, to be freed. */
char *hosts_text(const struct hosts *hosts, char between);

void hosts_fini(struct hosts *hosts);

#endif
