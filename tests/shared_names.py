#!/usr/bin/env python3
"""Prints the names that functions of several files share, and the tags of structs that have several bodies.

    shared_names.py PERCENT FOLDER...

The files are the C sources and headers below the folders. A function shares its name if another file defines a function
of that name, too, which only static functions can do. The names are printed if more than PERCENT of the functions share
theirs, the commonest first. The tags are always printed, because two structs of one name are never needed. `struct
adapter` is the exception: adapter.h only declares it, and each kind of adapter has a body of its own."""
import collections
import pathlib
import re
import sys

FUNCTION = re.compile(r"^[a-z_][^;{}=#]*?\b(\w+)\([^;{}]*\)\n\{", re.M)
STRUCT = re.compile(r"\bstruct (\w+)\s*\{")


def places(pattern, files):
    """Returns, for each name that the pattern finds, the files in which it does, one for each time."""
    found = collections.defaultdict(list)
    for path, text in files:
        for match in pattern.finditer(text):
            found[match[1]].append(path)
    return found


def show(kind, shared):
    for name, paths in sorted(shared.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"{kind} {name}: {' '.join(paths)}")


limit, folders = float(sys.argv[1]), sys.argv[2:]
files = [(str(path), re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S))
         for folder in folders for path in sorted(pathlib.Path(folder).rglob("*.[ch]"))]
functions, structs = places(FUNCTION, files), places(STRUCT, files)
shared = {name: paths for name, paths in functions.items() if len(set(paths)) > 1}
number, total = sum(map(len, shared.values())), sum(map(len, functions.values()))
if number > limit / 100 * total:
    print(f"{number} of {total} functions ({100 * number / total:.1f} %) share their name:")
    show("function", shared)
show("struct", {tag: paths for tag, paths in structs.items() if len(paths) > 1 and tag != "adapter"})
