#!/usr/bin/env python3
"""Prints the files of a room that are in circles of calls, one circle a line, the largest first; then the folders of the
room that are.

    call_circle.py [-v] FOLDER

FOLDER and the folders in it have the object files of the room's sources. A file refers to another one if it uses a
function or variable that the other one defines. Files are in one circle if each can be reached from each other one by
such references; so are folders, by the references of their files. With -v the functions of each reference inside of a
circle are printed, too."""
import pathlib
import subprocess
import sys


def symbols(path):
    """Returns the names that an object file defines for others, and those that it takes from others."""
    defined, used = set(), set()
    for line in subprocess.run(["nm", str(path)], check=True, capture_output=True, text=True).stdout.splitlines():
        kind, name = line.split()[-2:]
        if kind == "U":
            used.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, used


def source(path):
    """Returns the source of an object file, within FOLDER."""
    place = path.parent.parent if path.parent.name == ".libs" else path.parent
    return str(place.relative_to(folder) / (path.stem.split("-", 1)[-1] + ".c"))


def references(objects):
    """Returns, for each file, the files that it refers to and the names by which it does."""
    known = {source(path): symbols(path) for path in objects}
    home = {name: file for file, (defined, _) in known.items() for name in defined}
    found = {file: {} for file in known}
    for file, (_, used) in known.items():
        for name in used & home.keys():
            found[file].setdefault(home[name], set()).add(name)
    return found


def of_folders(graph):
    """Returns the same between folders, with the pairs of files by which they refer to each other."""
    found = {str(pathlib.PurePath(file).parent): {} for file in graph}
    for file, others in graph.items():
        for other in others:
            here, there = (str(pathlib.PurePath(path).parent) for path in (file, other))
            if here != there:
                found[here].setdefault(there, set()).add(f"{file}:{other}")
    return found


def reached(graph, start):
    seen, todo = set(), [start]
    while todo:
        for file in graph[todo.pop()]:
            if file not in seen:
                seen.add(file)
                todo.append(file)
    return seen


def circles(graph):
    reach = {file: reached(graph, file) for file in graph}
    found = {tuple(sorted(other for other in reach[file] if file in reach[other])) for file in graph}
    return sorted((circle for circle in found if len(circle) > 1), key=lambda circle: (-len(circle), circle))


def report(graph):
    for circle in circles(graph):
        print(" ".join(circle))
        for file in circle if verbose else ():
            for other in sorted(graph[file].keys() & set(circle)):
                print(f"    {file} -> {other}: {' '.join(sorted(graph[file][other]))}")


verbose, folder = sys.argv[1] == "-v", pathlib.Path(sys.argv[-1])
objects = sorted(folder.rglob("*.o"))
if not objects:
    sys.exit(f"{folder}: no object files")
files = references(objects)
report(files)
report(of_folders(files))
