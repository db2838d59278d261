/* Reads the output of `qstat -f -x` of Torque:
 * <Data><Job><Job_Id>…</Job_Id>…<Resource_List><mem>…</mem></Resource_List></Job>…</Data>. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_DATA = 1, DEPTH_JOB, DEPTH_ATTRIBUTE };

struct xml_reader {
    struct batch_rows *rows;
    bool in_job;
    int depth;
    char *value; /* of the attribute that is being read */
    size_t n, size;
};

static void begin_xml_element(void *arg, const char *name, const char **attributes)
{
    struct xml_reader *r = arg;

    r->depth++;
    r->n = 0;
    if (r->depth == DEPTH_JOB && strcmp(name, "Job") == 0)
        r->in_job = pbs_rows_add(r->rows, "") != NULL;
}

static void take_xml_text(void *arg, const char *text, int n)
{
    struct xml_reader *r = arg;

    if (r->depth != DEPTH_ATTRIBUTE)
        return;
    if (r->n + (size_t)n + 1 > r->size) {
        r->size = 2 * (r->n + (size_t)n + 1);
        r->value = xrealloc(r->value, r->size, 1);
    }
    memcpy(r->value + r->n, text, (size_t)n);
    r->n += (size_t)n;
}

static void end_xml_element(void *arg, const char *name)
{
    struct xml_reader *r = arg;

    if (r->depth == DEPTH_ATTRIBUTE && r->in_job && r->n > 0) {
        r->value[r->n] = '\0';
        pbs_row_set(r->rows, name, r->value);
    } else if (r->depth == DEPTH_JOB && r->in_job) {
        pbs_rows_end(r->rows);
        r->in_job = false;
    }
    r->n = 0;
    r->depth--;
}

int pbs_xml_parse(struct batch_rows *rows, char *text, size_t size, struct error *err)
{
    struct xml_reader r = {.rows = rows};
    XML_Parser parser;
    int rc = 0;

    while (size > 0 && strchr(" \n\r\t", text[size - 1]) != NULL)
        size--;
    if (size == 0) /* old versions print nothing if there are no jobs */
        return 0;
    parser = XML_ParserCreate("UTF-8");
    XML_SetUserData(parser, &r);
    XML_SetElementHandler(parser, begin_xml_element, end_xml_element);
    XML_SetCharacterDataHandler(parser, take_xml_text);
    if (XML_Parse(parser, text, (int)size, 1) != XML_STATUS_OK) {
        batch_rows_free(rows);
        rc = error_set(err, "batch_system_unsure", "qstat: its list cannot be read (byte %ld): %s",
                       (long)XML_GetCurrentByteIndex(parser), XML_ErrorString(XML_GetErrorCode(parser)));
    }
    XML_ParserFree(parser);
    free(r.value);
    return rc;
}
