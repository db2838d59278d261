# STRETTO_FIND_FORTRAN
# After AC_PROG_FC: whether there is a Fortran compiler that can compile the module stretto, and how it is told where
# modules go and where they are. Sets the conditional HAVE_FORTRAN, FC_MODOUT and FC_MODINC.
AC_DEFUN([STRETTO_FIND_FORTRAN], [
AC_ARG_WITH([fortran], [AS_HELP_STRING([--without-fortran], [leave out the Fortran module])], [], [with_fortran=yes])
have_fortran=no
AS_IF([test "$with_fortran" != no && test -n "$FC"], [
  AC_LANG_PUSH([Fortran])
  AC_MSG_CHECKING([whether $FC knows what the module stretto needs of Fortran 2008])
  AC_COMPILE_IFELSE([[
      program conftest
        use, intrinsic :: iso_c_binding
        use, intrinsic :: iso_fortran_env, only: real64, int8
        real(real64), target :: a(3)
        type(c_ptr) :: p
        p = c_loc(a(1))
        if (is_contiguous(a(::2)) .or. .not. c_associated(p)) error stop 1
      end program]], [have_fortran=yes])
  AC_MSG_RESULT([$have_fortran])
  AS_IF([test $have_fortran = yes], [
    AC_FC_MODULE_FLAG([], [have_fortran=no])
    AC_FC_MODULE_OUTPUT_FLAG([], [have_fortran=no])])
  AC_LANG_POP([Fortran])
])
AM_CONDITIONAL([HAVE_FORTRAN], [test $have_fortran = yes])
])
