#include "tasks/runner/rendezvous.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "tasks/runner/copies.h"
#include "tasks/runner/hosts.h"
#include "tasks/runner/port.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOSTFILE "hostfile"
#define APART 7919 /* between the ports at which the attempts of a member begin to look for a free one */

static bool needs_one(const struct jobdesc *desc, const struct jobdesc_task *task)
{
    if (task->launch != NULL)
        return true;
    return desc->kind == JOBDESC_MEMBERS && (task->ntasks > 1 || task->nodes > 1 || task->launcher != NULL);
}

/* Returns a number that differs among the members of an ensemble, and between the attempts of each. */
static uint32_t seed_of(const struct jobdesc_task *task)
{
    const char *attempt = json_string_value(json_object_get(task->env, "STRETTO_ATTEMPT"));
    uint32_t hash = 2166136261u;

    for (const char *c = task->id; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return (hash & 0xffffff) + APART * (attempt != NULL ? (uint32_t)strtoul(attempt, NULL, 10) & 0xffff : 0);
}

static int write_hostfile(struct rendezvous *r, const struct hosts *hosts, const struct jobdesc_task *task,
                          struct error *err)
{
    char *lines = hosts_text(hosts, '\n'), *text = xasprintf("%s\n", lines);
    int rc;

    r->hostfile = xasprintf("%s/" HOSTFILE, task->dir);
    rc = file_write_whole(r->hostfile, text, strlen(text), 0600 | FILE_UNFLUSHED, err);
    free(text);
    free(lines);
    return rc;
}

int rendezvous_make(struct rendezvous *r, const struct jobdesc *desc, const struct jobdesc_task *task,
                    struct error *err)
{
    struct hosts hosts;
    int rc, port;

    *r = (struct rendezvous){.lock = -1};
    if (!needs_one(desc, task))
        return 0;
    if (hosts_find(&hosts, task->nodes, task->ntasks, err) < 0)
        return task->launch != NULL || copies_are_meant(task) ? -1 : 0; /* another launcher has its own ways */
    r->hosts = hosts_text(&hosts, ',');
    r->address = xstrdup(hosts.n == 1 ? "127.0.0.1" : hosts.list[0].name);
    rc = write_hostfile(r, &hosts, task, err);
    hosts_fini(&hosts);
    if (rc < 0)
        return -1;
    port = port_take(seed_of(task), &r->lock);
    if (port == 0)
        return error_set(err, "cannot_start", "cannot start: no TCP port is free on this host");
    snprintf(r->port, sizeof r->port, "%d", port);
    return 0;
}

static void set_default(struct task_environment *env, const struct jobdesc_task *task, const char *name,
                        const char *value)
{
    if (json_object_get(task->env, name) == NULL)
        environment_set(env, name, value);
}

void rendezvous_tell(const struct rendezvous *r, const struct jobdesc_task *task, struct task_environment *env)
{
    if (r->hosts == NULL)
        return;
    environment_set(env, "STRETTO_HOSTS", r->hosts);
    environment_set(env, "STRETTO_HOSTFILE", r->hostfile);
    set_default(env, task, "MASTER_ADDR", r->address);
    set_default(env, task, "MASTER_PORT", r->port);
}

void rendezvous_words(const struct rendezvous *r, struct program_word words[RENDEZVOUS_WORDS])
{
    words[0] = (struct program_word){"{hosts}", r->hosts};
    words[1] = (struct program_word){"{hostfile}", r->hostfile};
    words[2] = (struct program_word){"{master_addr}", r->address};
    words[3] = (struct program_word){"{master_port}", r->port};
    words[4] = (struct program_word){NULL, NULL};
}

void rendezvous_fini(struct rendezvous *r)
{
    if (r->hosts != NULL && r->lock >= 0)
        close(r->lock);
    free(r->hosts);
    free(r->hostfile);
    free(r->address);
    *r = (struct rendezvous){.lock = -1};
}
