# The fuzzers, built by clang beside the ordinary build, from the same sources:
#   make -f SRCDIR/tests/fuzz/fuzz.mk SRCDIR=… BUILDDIR=…       into BUILDDIR/tests/fuzz
CLANG = $(if $(shell command -v ccache),ccache )clang
OUT = $(BUILDDIR)/tests/fuzz
PACKAGES = libuv libmicrohttpd gnutls libcurl sqlite3 jansson libzmq libsodium libxxhash expat zlib libzip
names := $(patsubst $(SRCDIR)/tests/fuzz/fuzz_%.c,%,$(wildcard $(SRCDIR)/tests/fuzz/fuzz_*.c))
folders := common tasks/proto daemon daemon/spec api
sources := $(filter-out daemon/main.c daemon/app.c,$(foreach f,$(folders),\
	$(patsubst $(SRCDIR)/%,%,$(wildcard $(SRCDIR)/$(f)/*.c))))
# What reads nothing from outside is there to be linked, and leads no fuzzer anywhere: it is what the ordinary build has made
# of it. The members of these that are among the sources, too, are not looked at any more when their turn comes.
built := $(BUILDDIR)/.libs/libapi.a $(BUILDDIR)/.libs/libdaemon.a
objects := $(sort $(patsubst %.c,$(OUT)/obj/%.o,$(sources)))
# Without optimisation the sources compile in 45 s of a processor and not in 75; what the tests run then takes 35 s and not 26.
flags := -gline-tables-only -O0 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -std=gnu11 \
	-D_GNU_SOURCE -DHAVE_CONFIG_H -I$(SRCDIR) -I$(BUILDDIR) $(shell pkg-config --cflags $(PACKAGES)) \
	-DSTRETTO_BINDIR='"/nowhere"' -DSTRETTO_EXAMPLEDIR='"/nowhere"' -DSTRETTO_PYTHONDIR='"/nowhere"' \
	-DSTRETTO_PLUGINDIR='"/nowhere"'
libs := $(shell pkg-config --libs $(PACKAGES)) -lm -lpthread -ldl

all: $(patsubst %,$(OUT)/fuzz_%,$(names))

$(OUT)/fuzz_%: $(OUT)/obj/tests/fuzz/fuzz_%.o $(OUT)/libfuzzed.a $(built)
	clang -fsanitize=fuzzer,address,undefined -o $@ $^ $(libs)

$(OUT)/libfuzzed.a: $(objects)
	rm -f $@ && ar rcs $@ $(objects)

$(OUT)/obj/%.o: $(SRCDIR)/%.c
	mkdir -p $(dir $@) && $(CLANG) $(flags) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

-include $(objects:.o=.d) $(patsubst %,$(OUT)/obj/tests/fuzz/fuzz_%.d,$(names))
.PRECIOUS: $(OUT)/obj/%.o
