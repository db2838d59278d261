#include "daemon/spec/pickled.h"

#include <string.h>
#include <unistd.h>

#define CODE "spec_parameter_file"
#define HEAD 128 /* bytes by which a file is known */

#define LOAD "numpy.load(\"%.200s\", allow_pickle=True)"

int pickled_refuse_array(const char *path, const char *array, bool single, struct error *err)
{
    if (single)
        return error_set(err, CODE,
                         "array \"%.63s\" is a pickled object; if it is a dict of lists, this line of Python makes "
                         "columns of it: import numpy; numpy.savez(\"columns.npz\", **" LOAD "[\"%.63s\"].item())",
                         array, path, array);
    return error_set(
        err, CODE,
        "array \"%.63s\" has pickled objects; if they are dicts, this line of Python makes columns of "
        "them: import numpy; rows = " LOAD
        "[\"%.63s\"]; numpy.savez(\"columns.npz\", **{key: [row[key] for row in rows] for key in rows[0]})",
        array, path, array);
}

int pickled_check_file(const char *path, int fd, struct error *err)
{
    unsigned char head[HEAD] = {0};
    ssize_t n = pread(fd, head, sizeof head, 0);
    bool one = n > 6 && memcmp(head, "\x93NUMPY", 6) == 0, objects = one && memmem(head, (size_t)n, "'|O'", 4) != NULL;

    if (one && !objects)
        return error_set(err, CODE,
                         "it is one array (.npy); this line of Python makes an archive of it: import numpy; "
                         "numpy.savez(\"columns.npz\", x=numpy.load(\"%.200s\"))",
                         path);
    if (objects || (n > 1 && head[0] == 0x80 && head[1] < 0x10))
        return error_set(err, CODE,
                         "it is a pickled object; if it is a dict of lists, this line of Python makes columns of it: "
                         "import numpy; numpy.savez(\"columns.npz\", **" LOAD "%s)",
                         path, objects ? ".item()" : "");
    return 0;
}
