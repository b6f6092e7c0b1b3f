#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# debian_packages.sh BUILD_DIR MAKE_DATABASE: makes the packages for Debian and holds their contents against cmake --install and
# their dependencies against what a bare system has; the unpacked program answers without CUDA's libraries. lintian,
# where it is there, finds no error. Ends with 77 where there is no dpkg.
set -euo pipefail
build=$1 make_database=$2
third_party=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/THIRD_PARTY.md
command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*" && exit 1; }

contact='Some Body <some.body@example.org>'
(cd "$build" && cpack -G DEB -B "$scratch/debs" -D "CPACK_PACKAGE_CONTACT=$contact") >"$scratch/log" 2>&1 || fail "cpack ends with $?: $(cat "$scratch/log")"
cd "$scratch/debs"
names=$(for deb in *.deb; do dpkg-deb -f "$deb" Package; done | sort | xargs)
[ "$names" = 'gemm-tune gemm-tune-defaults libgemm-tune-dev libgemm-tune0' ] || fail "the packages are: $names"

for deb in *.deb; do
  package=$(dpkg-deb -f "$deb" Package)
  [ "$(dpkg-deb -f "$deb" Maintainer)" = "$contact" ] || fail "the maintainer of $deb is $(dpkg-deb -f "$deb" Maintainer)"
  strangers=$(dpkg-deb -f "$deb" Depends | sed 's/ ([^)]*)//g; s/, /\n/g' |
    grep -v -x -E 'libc6|libgcc-s1|libstdc\+\+6|libgemm-tune0' || true)
  [ -z "$strangers" ] || fail "$deb depends on: $strangers"
  dpkg-deb -x "$deb" "$scratch/root"
  tail -n "$(wc -l <"$third_party")" "$scratch/root/usr/share/doc/$package/copyright" | cmp - "$third_party" ||
    fail "$deb has not the licences of what it contains"
  dpkg-deb --fsys-tarfile "$deb" | tar -t | grep -v '/$' >>"$scratch/files"
done
[ -z "$(sort "$scratch/files" | uniq -d)" ] || fail "in two packages: $(sort "$scratch/files" | uniq -d)"

# Nothing of cmake --install is left out but the licences, which stand in the copyright files; man pages are packed, and zsh's
# completions lie where Debian's zsh looks.
for component in program preload library development defaults; do
  cmake --install "$build" --component $component --prefix "$scratch/prefix/usr" >/dev/null
done
for licence in LICENSE THIRD_PARTY.md; do
  cmp "$(dirname "$third_party")/$licence" "$scratch/prefix/usr/share/licenses/gemm-tune/$licence" || fail "cmake --install installs no $licence"
done
missing=$(cd "$scratch/prefix" && find . ! -path './usr/share/licenses/*' \( -type f -o -type l \) | while read -r file; do
  grep -q -x -F -e "${file/site-functions/vendor-completions}" -e "$file.gz" "$scratch/files" || echo "$file"
done)
[ -z "$missing" ] || fail "in no package: $missing"
for file in ./usr/share/man/man1/gemm-tune.1.gz ./usr/share/bash-completion/completions/gemm-tune \
  ./usr/share/zsh/vendor-completions/_gemm-tune ./usr/share/fish/vendor_completions.d/gemm-tune.fish ./usr/lib/libgemm_tune.so.0 \
  ./usr/share/doc/gemm-tune/copyright; do
  grep -q -x "$file" "$scratch/files" || fail "in no package: $file"
done
for binary in usr/bin/gemm-tune usr/lib/libgemm_tune.so.0; do
  ! readelf -d "$scratch/root/$binary" | grep -E 'RPATH|RUNPATH' || fail "$binary searches a folder of this machine"
done
! grep -n rpath "$scratch/root/usr/lib/pkgconfig/gemm_tune.pc" || fail "programs built by pkg-config get a search path"

"$make_database" "$scratch/winners.db"
"$scratch/root/usr/bin/gemm-tune" best --arch sm_86 --sizes 1024 --db "$scratch/winners.db" | grep -q vectorized_2d/BM=128 ||
  fail "the packed program does not answer"
[ "$(dpkg-deb -f gemm-tune-defaults_*.deb Architecture)" = all ] || fail "the defaults are of one architecture"
for layer in "$scratch"/root/usr/share/gemm-tune/winners/*.db; do
  env -u GEMM_TUNE_DB XDG_DATA_HOME="$scratch/home" XDG_DATA_DIRS="$scratch/none" "$scratch/root/usr/bin/gemm-tune" --version |
    grep -q -E "^layer $layer: [1-9][0-9]* winners?$" || fail "the packed program does not read $layer"
done

# Where the tools of a package's installation are there, what is removed leaves no file behind.
if [ "$(id -u)" = 0 ] && command -v dpkg >/dev/null; then
  installed() { (cd "$scratch/system" && find . -path ./var -prune -o -print | sort); }
  mkdir -p "$scratch/system/var/lib/dpkg"/{info,updates} && touch "$scratch/system/var/lib/dpkg/status"
  before=$(installed)
  dpkg --root="$scratch/system" --force-depends -i gemm-tune-defaults_*.deb >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
  [ "$(installed)" != "$before" ] || fail "the defaults install nothing"
  dpkg --root="$scratch/system" --force-depends -P gemm-tune-defaults >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
  [ "$(installed)" = "$before" ] || fail "the defaults leave files behind"
fi
if command -v lintian >/dev/null; then
  errors=$(lintian --tag-display-limit 0 ./*.deb 2>/dev/null | grep '^E:' || true)
  [ -z "$errors" ] || fail "$errors"
fi
