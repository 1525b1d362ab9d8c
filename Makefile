# make            the programs: ./train ./sample ...
# make run        trains the default model on the built-in corpus
# make test       the quick suite
# make bench      training speed, beside PyTorch where PYTHON has it
# make newop NAME=silu    a skeleton for a new op
# CC=clang OPT=-O1 choose compiler and level; PORTABLE=1 leaves out
# -march=native; OPENMP=no leaves out OpenMP. The bits do not change.

CC       = $(firstword $(foreach c,gcc clang cc,\
             $(shell command -v $c 2>/dev/null)))
OPT      = -O3
WARN     = -Wall -Wextra -Wconversion -Wmissing-prototypes -Wvla
# Without errno and traps a compiler may use vector code for sqrt and for
# both sides of a ?:. Values are the same; only -ffast-math changes those.
STRICT   = -ffp-contract=off -fno-math-errno -fno-trapping-math
DEFINES  = -D_POSIX_C_SOURCE=200809L

# Does the compiler take these flags, up to a linked program?
takes    = $(shell echo 'int main(void){return 0;}' | $(CC) $1 -x c - \
             -o /dev/null 2>/dev/null && echo '$1')
ifndef PORTABLE
MARCH   := $(call takes,-march=native)
endif
ifneq ($(OPENMP),no)
OPENMP_FLAG := $(call takes,-fopenmp)
endif

# Without OpenMP its pragmas are comments.
QUIET    = $(if $(OPENMP_FLAG),,-Wno-unknown-pragmas)
FLAGS    = $(CFLAGS) -std=c11 -pedantic $(OPT) $(MARCH) $(STRICT) \
           $(OPENMP_FLAG) $(WARN) $(QUIET) $(DEFINES) $(EXTRA)
INCLUDE  = -Iinclude -Imodels -Idata -Isrc/lab -Ibuild
LIBS     = -lm

OPS      = $(sort $(wildcard src/ops/*.c))
LIB      = $(wildcard src/*.c src/kernels/*.c models/*.c data/*.c) $(OPS)
LAB      = $(sort $(wildcard src/lab/*.c))
TESTS    = $(wildcard tests/*.c)
PROGRAMS = $(patsubst src/cmd/%.c,%,$(wildcard src/cmd/*.c))

f32      = $(patsubst %.c,build/f32/%.o,$1)
f64      = $(patsubst %.c,build/f64/%.o,$1)

all: $(PROGRAMS)

$(PROGRAMS): %: build/f32/src/cmd/%.o $(call f32,$(LIB))
	$(CC) $(FLAGS) $^ -o $@ $(LIBS)

# The claims are linked into ./lab, and into the tests.
lab: $(call f32,$(LAB))

build/test32: $(call f32,$(TESTS) $(LIB) $(LAB))
	$(CC) $(FLAGS) $^ -o $@ $(LIBS)

build/test64: $(call f64,$(TESTS) $(LIB) $(LAB))
	$(CC) $(FLAGS) $^ -o $@ $(LIBS)

build/f32/%.o: %.c build/flags build/op_list.h build/claim_list.h
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(INCLUDE) -MMD -MP -c $< -o $@

build/f64/%.o: %.c build/flags build/op_list.h build/claim_list.h
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -DREAL_DOUBLE $(INCLUDE) -MMD -MP -c $< -o $@

# The folder is the registry: one line OP(name) for every file in src/ops.
build/op_list.h: FORCE
	@mkdir -p build
	@for f in $(OPS); do echo "OP($$(basename $$f .c))"; done > $@.new
	@cmp -s $@.new $@ || cp $@.new $@

# Likewise CLAIM(claim_x) for every claim that a file in src/lab defines: the
# exercises (e) before the others (c), and each by number.
build/claim_list.h: FORCE
	@mkdir -p build
	@sed -n 's/^const Claim \(claim_[a-z][0-9]*\) =.*/CLAIM(\1)/p' $(LAB) | \
	    LC_ALL=C sort -k1.13,1.13r -k1.14n > $@.new
	@cmp -s $@.new $@ || cp $@.new $@

# Changes only when the compiler or a flag does, and then all is rebuilt.
build/flags: FORCE
	@mkdir -p build
	@echo '$(CC) $(FLAGS)' | cmp -s - $@ || echo '$(CC) $(FLAGS)' > $@

run: train
	./train

test: all build/test32 build/test64
	tests/run

bench: train build/cores
	$(or $(PYTHON),python3) tests/bench/bench.py $(BENCH)

build/cores build/step build/sample_speed: build/%: build/f32/tests/bench/%.o $(call f32,$(LIB))
	$(CC) $(FLAGS) $^ -o $@ $(LIBS)

build/logits: build/f32/tests/deep/logits.o $(call f32,$(LIB))
	$(CC) $(FLAGS) $^ -o $@ $(LIBS)

# make build/fuzz-safetensors: tests/fuzz/safetensors.c for libFuzzer.
build/fuzz-%: tests/fuzz/%.c $(LIB) build/op_list.h
	clang -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined \
	    -fno-sanitize-recover=all -Wno-unknown-pragmas $(DEFINES) \
	    $(INCLUDE) $< $(LIB) -o $@ $(LIBS)

newop:
	@tests/newop $(NAME)

clean:
	rm -rf build $(PROGRAMS)

FORCE:
.PHONY: all run test bench newop clean FORCE

-include $(shell find build -name '*.d' 2>/dev/null)
