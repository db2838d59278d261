# STRETTO_FIND_PYTHON
# Finds a Python that has PyTorch and NumPy for the training side. The first python3 on PATH often has neither
# (pyenv, conda base), so each candidate is asked. Sets STRETTO_PYTHON (absolute, may be empty: the daemon looks again
# when it starts), and YAML_PYTHON, one that can read YAML, to turn api/openapi.yaml into JSON.
AC_DEFUN([STRETTO_FIND_PYTHON], [
AC_ARG_VAR([PYTHON], [Python 3 with torch and numpy, for the training side])
AC_MSG_CHECKING([for a Python with PyTorch and NumPy])
STRETTO_PYTHON=`sh "$srcdir/build-aux/find-python" torch numpy -- $PYTHON 2>&AS_MESSAGE_LOG_FD`
stretto_python_what=
AS_IF([test -n "$STRETTO_PYTHON"], [stretto_python_what="(has torch and numpy)"],
  [stretto_python_what="(no python3 here has torch and numpy)"])
AC_MSG_RESULT([${STRETTO_PYTHON:-none}])
AC_MSG_CHECKING([for a Python with PyYAML])
YAML_PYTHON=`sh "$srcdir/build-aux/find-python" yaml -- $PYTHON 2>&AS_MESSAGE_LOG_FD`
AC_MSG_RESULT([${YAML_PYTHON:-none}])
AC_SUBST([STRETTO_PYTHON])
AC_SUBST([YAML_PYTHON])
AC_DEFINE_UNQUOTED([STRETTO_PYTHON], ["$STRETTO_PYTHON"], [Python with torch and numpy found by configure, or empty])
])
