/* Checks that the open database is still the one in the state directory. A database that was removed, renamed or
 * replaced can still be written to, and the changes are lost when its last descriptor is closed. */
#include "daemon/store/internal.h"

#include "common/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const suffixes[STORE_FILES] = {"", "-wal"};

/* Looks which file has the name now. Returns 0, or an errno value. */
static int look_at_file(const struct store *store, size_t which, struct store_file *file)
{
    char *path = xasprintf("%s%s", store->path, suffixes[which]);
    struct stat st;
    int rc = stat(path, &st) < 0 ? errno : 0;

    free(path);
    if (rc == 0)
        *file = (struct store_file){.known = true, .device = st.st_dev, .inode = st.st_ino};
    return rc;
}

void store_note_files(struct store *store)
{
    for (size_t i = 0; i < STORE_FILES && !(store->exclusive && i > 0); i++)
        look_at_file(store, i, &store->files[i]);
}

int store_check_present(const struct store *store, struct error *err)
{
    for (size_t i = 0; i < STORE_FILES; i++) {
        const struct store_file *open = &store->files[i];
        struct store_file here;
        int rc = open->known ? look_at_file(store, i, &here) : 0;

        if (open->known && (rc != 0 || here.device != open->device || here.inode != open->inode))
            return error_set(err, "store_gone",
                             "the state directory was removed, renamed or replaced: %s%s is not the file that the "
                             "daemon has open (%s); nothing is accepted or submitted until it is back, or the daemon "
                             "is started again",
                             store->path, suffixes[i], rc != 0 ? strerror(rc) : "it is another one");
    }
    return 0;
}
