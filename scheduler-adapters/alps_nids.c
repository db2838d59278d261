/* Finds the numbers of the compute nodes of this allocation. */
#include "scheduler-adapters/alps.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NID_LIMIT 1000000
#define NODEFILE_MAX (8 << 20)

struct nid_list {
    int *nid;
    size_t n, size;
};

static void add_nid(struct nid_list *list, int nid)
{
    for (size_t i = 0; i < list->n; i++) /* a node file names a node once for each of its CPUs */
        if (list->nid[i] == nid)
            return;
    if (list->n == list->size) {
        list->size = list->size == 0 ? 64 : 2 * list->size;
        list->nid = xrealloc(list->nid, list->size, sizeof *list->nid);
    }
    list->nid[list->n++] = nid;
}

/* Reads "7" or "3-6"; returns what follows it, or NULL if it is neither. */
static const char *add_range(struct nid_list *list, const char *at)
{
    long first, last;
    char *end;

    if (!isdigit((unsigned char)*at))
        return NULL;
    first = last = strtol(at, &end, 10);
    if (*end == '-') {
        if (!isdigit((unsigned char)end[1]))
            return NULL;
        last = strtol(end + 1, &end, 10);
    }
    if (last < first || last >= NID_LIMIT)
        return NULL;
    for (long nid = first; nid <= last; nid++)
        add_nid(list, (int)nid);
    return end;
}

static const char *add_bracket(struct nid_list *list, const char *at, const char *zeros)
{
    /* other digits than zeros before the bracket would be part of the number */
    if (strspn(zeros, "0") != strcspn(zeros, "["))
        return NULL;
    do {
        at = add_range(list, at + 1);
    } while (at != NULL && *at == ',');
    return at != NULL && *at == ']' ? at + 1 : NULL;
}

int alps_nids_parse(const char *text, int **nids, size_t *n)
{
    struct nid_list list = {0};
    const char *at = text;

    while (at != NULL && *at != '\0') {
        if (strncmp(at, "nid", 3) == 0)
            at += 3;
        if (at[strspn(at, "0123456789")] == '[')
            at = add_bracket(&list, strchr(at, '['), at);
        else
            at = add_range(&list, at);
        if (at != NULL && *at != '\0')
            at = *at == ',' || isspace((unsigned char)*at) ? at + 1 + strspn(at + 1, " \n") : NULL;
    }
    if (at == NULL || list.n == 0) {
        free(list.nid);
        return -1;
    }
    *nids = list.nid;
    *n = list.n;
    return 0;
}

/* Reads the nodes that a batch system wrote to a file. Often it names the service node, which is no compute node. */
static int from_file(const char *path, int **nids, size_t *n)
{
    struct error err;
    size_t size;
    char *text;
    int rc;

    if (path == NULL || file_read(path, NODEFILE_MAX, &text, &size, &err) < 0)
        return -1;
    rc = alps_nids_parse(text, nids, n);
    free(text);
    return rc;
}

int alps_nids_find(int **nids, size_t *n)
{
    static const char *const variables[] = {"COBALT_PARTNAME", "SLURM_JOB_NODELIST"};

    for (size_t i = 0; i < 2; i++)
        if (getenv(variables[i]) != NULL && alps_nids_parse(getenv(variables[i]), nids, n) == 0)
            return 0;
    return from_file(getenv("PBS_NODEFILE"), nids, n);
}
