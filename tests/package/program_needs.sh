#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# program_needs.sh FILE [LIBRARY...]: fails where the program or library needs a shared library besides the C library and
# those named, as in libstdc++, that is, where it would not start on a machine of the same distribution without
# development packages and without CUDA; and where it calls a function that Ubuntu 22.04's C library lacks (core/random_word.h).
set -euo pipefail
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ]
may=$(IFS='|' && shift && echo "c|m|dl|pthread|rt${*:+|$*}" | sed 's/+/\\+/g')
strangers=$(grep -v -E "^(lib($may)\.so\.[0-9]+|ld-linux.*)$" <<<"$needed" || true)
[ -z "$strangers" ] || { echo "$1 needs: $strangers" && exit 1; }
! readelf --dyn-syms --wide "$1" | grep -w arc4random || { echo "$1 needs glibc 2.36" && exit 1; }
