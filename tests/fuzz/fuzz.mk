# The fuzzers, built by clang beside the ordinary build, from the same sources:
#   make -f SRCDIR/tests/fuzz/fuzz.mk SRCDIR=… BUILDDIR=…       into BUILDDIR/tests/fuzz
CLANG = $(if $(shell command -v ccache),ccache )clang
OUT = $(BUILDDIR)/tests/fuzz
PACKAGES = libuv libmicrohttpd gnutls libcurl sqlite3 jansson libzmq libsodium libxxhash expat
names := $(patsubst $(SRCDIR)/tests/fuzz/fuzz_%.c,%,$(wildcard $(SRCDIR)/tests/fuzz/fuzz_*.c))
folders := common tasks/proto scheduler-adapters daemon daemon/engine daemon/rundir daemon/spec daemon/store api
sources := $(filter-out daemon/main.c daemon/app.c scheduler-adapters/template.c,$(foreach f,$(folders),\
	$(patsubst $(SRCDIR)/%,%,$(wildcard $(SRCDIR)/$(f)/*.c)))) migrations/embedded.c api/openapi.c
objects := $(sort $(patsubst %.c,$(OUT)/obj/%.o,$(sources)))
flags := -gline-tables-only -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -std=gnu11 \
	-D_GNU_SOURCE -DHAVE_CONFIG_H -I$(SRCDIR) -I$(BUILDDIR) $(shell pkg-config --cflags $(PACKAGES)) \
	-DSTRETTO_BINDIR='"/nowhere"' -DSTRETTO_EXAMPLEDIR='"/nowhere"' -DSTRETTO_PYTHONDIR='"/nowhere"' \
	-DSTRETTO_PLUGINDIR='"/nowhere"'
libs := $(shell pkg-config --libs $(PACKAGES)) -lm -lpthread -ldl

all: $(patsubst %,$(OUT)/fuzz_%,$(names))

$(OUT)/fuzz_%: $(OUT)/obj/tests/fuzz/fuzz_%.o $(OUT)/libfuzzed.a
	clang -fsanitize=fuzzer,address,undefined -o $@ $^ $(libs)

$(OUT)/libfuzzed.a: $(objects)
	rm -f $@ && ar rcs $@ $(objects)

# What reads nothing from outside is there to be linked, and leads no fuzzer anywhere: its memory is watched, and that is all.
# With the rest of it, which the tests of its own have anyway, it would take most of the time to compile.
unread = $(filter daemon/engine/% daemon/store/% daemon/rundir/% migrations/% api/openapi scheduler-adapters/%,$*)
compile = mkdir -p $(dir $@) && $(CLANG) $(flags) \
	$(if $(unread),-O0 -fno-sanitize=undefined,-fsanitize=fuzzer-no-link) -MMD -c -o $@ $<
$(OUT)/obj/%.o: $(SRCDIR)/%.c
	$(compile)
$(OUT)/obj/%.o: $(BUILDDIR)/%.c
	$(compile)

-include $(objects:.o=.d) $(patsubst %,$(OUT)/obj/tests/fuzz/fuzz_%.d,$(names))
.PRECIOUS: $(OUT)/obj/%.o
