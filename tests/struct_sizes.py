#!/usr/bin/env python3
"""Prints each struct of the C headers given that has more than 25 fields, or more than 6 booleans: one that holds the
life of several things. A struct inside of another one is a field of it."""
import re
import sys

MOST_FIELDS, MOST_BOOLEANS = 25, 6


def bodies(text):
    """Yields the name and the text of each struct."""
    for start in re.finditer(r"struct (\w+) \{", text):
        depth, at = 1, start.end()
        while depth > 0:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield start[1], text[start.end():at - 1]


def fields(body):
    """Returns the declarations of a struct's body, without what is inside of inner structs and of parentheses."""
    while re.search(r"\{[^{}]*\}|\([^()]*\)", body):
        body = re.sub(r"\{[^{}]*\}|\([^()]*\)", "", body)
    return [field.strip() for field in body.split(";") if field.strip()]


for path in sys.argv[1:]:
    with open(path) as file:
        source = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    for name, body in bodies(source):
        declared = [(field.startswith("bool "), 1 + field.count(",")) for field in fields(body)]
        all_of_them = sum(n for _, n in declared)
        booleans = sum(n for is_boolean, n in declared if is_boolean)
        if all_of_them > MOST_FIELDS or booleans > MOST_BOOLEANS:
            print(f"{path}: struct {name} has {all_of_them} fields, {booleans} of them booleans")
