#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# program_needs.sh PROGRAM: fails where PROGRAM needs a shared library besides CUDA's two and the C library, that is,
# where it would not run on a machine of the same distribution without development packages.
set -euo pipefail
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ]
strangers=$(grep -v -E '^(libcudart\.so\.13|libnvrtc\.so\.13|lib(c|m|dl|pthread|rt)\.so\.[0-9]+|ld-linux.*)$' <<<"$needed" || true)
[ -z "$strangers" ] || { echo "$1 needs: $strangers" && exit 1; }
