# A million members in one ensemble of a real daemon: million.py tells which figures.
# shellcheck shell=bash
cd "${builddir:?}" && exec /usr/bin/python3 "${srcdir:?}/tests/bench/million.py"
