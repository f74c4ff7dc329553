#!/bin/sh
# Compiles the programs ahead, so that who uses them needs no compiler, and notes from which sources. go generate runs it.
set -e
cd "$(dirname "$0")"
clang -O2 -g -Wall -Werror -target bpfel -mcpu=v3 -ffile-prefix-map="$PWD"=. -fdebug-compilation-dir=. -c kernel.c -o ../kernel.bpf.o
llvm-strip -g ../kernel.bpf.o # the BTF stays
sha256sum *.c *.h >sources.sum
