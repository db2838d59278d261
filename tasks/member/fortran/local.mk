# The module stretto, as a library with its .mod file and as the one source file that it is, for other compilers.
fortran_dir = tasks/member/fortran
fortran_modules = $(fortran_dir)/stretto.f90 $(fortran_dir)/stretto_mpi.f90
EXTRA_DIST += $(fortran_dir)/expand.awk $(fortran_modules:=.in)
fortransourcedir = $(pkgdatadir)/fortran
nodist_fortransource_DATA = $(fortran_modules)
dist_fortransource_DATA = $(fortran_dir)/stretto_mpi_shim.c
CLEANFILES += $(fortran_modules)

$(fortran_modules): $(fortran_dir)/expand.awk
	$(AM_V_GEN)$(MKDIR_P) $(fortran_dir) && $(AWK) -v source=$(@F).in -f $(srcdir)/$(fortran_dir)/expand.awk \
		$(srcdir)/$@.in >$@.new && mv $@.new $@
$(fortran_dir)/stretto.f90: $(fortran_dir)/stretto.f90.in
$(fortran_dir)/stretto_mpi.f90: $(fortran_dir)/stretto_mpi.f90.in

if HAVE_FORTRAN
lib_LTLIBRARIES += libstretto-fortran.la
nodist_libstretto_fortran_la_SOURCES = $(fortran_dir)/stretto.f90
libstretto_fortran_la_FCFLAGS = $(AM_FCFLAGS) $(SANITIZE_FLAGS) $(FC_MODOUT)$(fortran_dir)
libstretto_fortran_la_LIBADD = libstretto.la
libstretto_fortran_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0
# a compiler reads only modules of its own kind
fmoddir = $(pkglibdir)/fortran
nodist_fmod_DATA = $(fortran_dir)/stretto.mod
$(fortran_dir)/stretto.mod: libstretto-fortran.la
	@test -f $@
CLEANFILES += $(fortran_dir)/stretto.mod
pkgconfig_DATA += $(fortran_dir)/stretto-fortran.pc

check_PROGRAMS += tests/t/stream-member-fortran
tests_t_stream_member_fortran_SOURCES = tests/t/stream-member.f90
tests_t_stream_member_fortran_FCFLAGS = $(AM_FCFLAGS) $(SANITIZE_FLAGS) $(FC_MODINC)$(fortran_dir)
tests_t_stream_member_fortran_LDADD = libstretto-fortran.la
tests/t/tests_t_stream_member_fortran-stream-member.$(OBJEXT) \
tests/t/stream_member_fortran-stream-member.$(OBJEXT): $(fortran_dir)/stretto.mod

check_PROGRAMS += tests/t/checkpoint-member-fortran
tests_t_checkpoint_member_fortran_SOURCES = tests/t/checkpoint-member.f90
tests_t_checkpoint_member_fortran_FCFLAGS = $(AM_FCFLAGS) $(SANITIZE_FLAGS) $(FC_MODINC)$(fortran_dir)
tests_t_checkpoint_member_fortran_LDADD = libstretto-fortran.la
tests/t/tests_t_checkpoint_member_fortran-checkpoint-member.$(OBJEXT) \
tests/t/checkpoint_member_fortran-checkpoint-member.$(OBJEXT): $(fortran_dir)/stretto.mod

check_PROGRAMS += tests/t/held-member-fortran
tests_t_held_member_fortran_SOURCES = tests/t/held-member.f90
tests_t_held_member_fortran_FCFLAGS = $(AM_FCFLAGS) $(SANITIZE_FLAGS) $(FC_MODINC)$(fortran_dir)
tests_t_held_member_fortran_LDADD = libstretto-fortran.la
tests/t/tests_t_held_member_fortran-held-member.$(OBJEXT) \
tests/t/held_member_fortran-held-member.$(OBJEXT): $(fortran_dir)/stretto.mod
else
EXTRA_DIST += tests/t/stream-member.f90 tests/t/checkpoint-member.f90 tests/t/held-member.f90
endif
