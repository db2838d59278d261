#include "api/event_stream.h"
#include "api/event_text.h"
#include "api/feed.h"
#include "api/handlers.h"
#include "common/near.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 10000 /* ids that are looked at for one page of a kind */

struct event_page {
    struct text text;
    int64_t n, last;
};

static int add_event_to_page(void *arg, const struct event_row *row)
{
    struct event_page *page = arg;

    text_add(&page->text, page->n++ > 0 ? "," : "");
    event_text(&page->text, row);
    page->last = row->id;
    return 0;
}

/* Answers with events after `after`, oldest first. "next" is where to go on; null if there are no more for now. */
static void reply_page(struct request *r, int64_t after, const struct event_filter *filter, int64_t limit)
{
    struct event_page page = {0};
    int64_t newest = feed_newest(request_config(r)->feed), upto = newest, oldest;
    struct error err;

    if (filter->kind != NULL && upto - after > WINDOW)
        upto = after + WINDOW;
    text_add(&page.text, "{\"events\":[");
    if (store_event_bounds(request_store(r), &oldest, &(int64_t){0}, &err) < 0 ||
        store_event_each(request_store(r), after, upto, filter, (int)limit, add_event_to_page, &page, &err) < 0) {
        free(page.text.data);
        request_reply_problem(r, &err);
        return;
    }
    if (page.n < limit)
        page.last = upto;
    if (oldest > newest + 1)
        oldest = newest + 1;
    text_add(&page.text, "],\"next\":");
    text_add(&page.text, page.last < newest ? "\"%" PRId64 "\"" : "null", page.last);
    text_add(&page.text, ",\"oldest\":%" PRId64 ",\"newest\":%" PRId64 "}\n", oldest, newest);
    request_reply_text(r, 200, "application/json", page.text.data);
}

/* Reads up to which event the client has seen them: from a header if it comes back to a stream, else from the query. */
static int read_after(struct request *r, bool stream, int64_t *after, struct error *err)
{
    const char *seen = stream ? request_header(r, "Last-Event-ID") : NULL;

    if (seen != NULL && *seen != '\0') {
        if (strlen(seen) > 18 || seen[strspn(seen, "0123456789")] != '\0')
            return error_set(err, "last_event_id_invalid", "Last-Event-ID must be the id of an event, not \"%.60s\"",
                             seen);
        *after = strtoll(seen, NULL, 10);
        return 0;
    }
    return request_query_int(r, "after", 0, INT64_MAX / 2, after, err);
}

/* Checks that there are events of this kind; NULL stands for all. A mistyped one would be waited for in vain. */
static int check_event_kind(const char *kind, struct error *err)
{
    static const char *const kinds[] = {
#define EVENT_KIND(name) name,
#include "api/tbl/event_kinds.h"
#undef EVENT_KIND
        NULL};
    const char *meant;

    for (size_t i = 0; kind != NULL && kinds[i] != NULL; i++)
        if (strcmp(kinds[i], kind) == 0)
            return 0;
    if (kind == NULL)
        return 0;
    meant = near_find(kind, kinds);
    return error_set(err, "query_wrong_value", "there are no events of the kind \"%.60s\"%s%s%s", kind,
                     meant != NULL ? "; did you mean \"" : ", as ensemble.complete is one", meant != NULL ? meant : "",
                     meant != NULL ? "\"?" : "");
}

void events_get(struct request *r)
{
    const char *accept = request_header(r, "Accept");
    bool stream = accept != NULL && strstr(accept, "text/event-stream") != NULL;
    struct event_filter filter = {.kind = request_query(r, "kind")};
    int64_t after = stream ? feed_newest(request_config(r)->feed) : 0, limit = 100;
    struct error err;

    if (check_event_kind(filter.kind, &err) < 0 || request_query_int(r, "limit", 1, 1000, &limit, &err) < 0 ||
        request_query_int(r, "ensemble", 1, INT64_MAX, &filter.ensemble, &err) < 0 ||
        read_after(r, stream, &after, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (feed_newest(request_config(r)->feed) < 0)
        request_reply_error(r, "not_ready", "the daemon is about to store what it found at its start");
    else if (stream)
        event_stream_reply(r, after, &filter);
    else
        reply_page(r, after, &filter, limit);
}
