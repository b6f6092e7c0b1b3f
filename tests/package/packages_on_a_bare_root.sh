#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages_on_a_bare_root.sh BUILD_DIR SOURCE_DIR: installs the packages for Debian in a root folder that holds this
# distribution's smallest system, by the command of packaging/container, and uses them there: the program, the drop-in, the winners that ship, and a program
# that was built against libgemm-tune-dev. Removed again, they leave nothing. Takes minutes. Skipped (77) where there is no
# mmdebstrap or no root, or where the distribution's packages cannot be fetched.
set -euo pipefail
build=$1 source=$2
skip() { echo "skipped: $*" && exit 77; }
fail() { echo "$*" && exit 1; }
[ "$(id -u)" = 0 ] || skip "only root may make a root folder"
unshare --mount true 2>/dev/null || skip "no mount namespace is to be had here"
command -v mmdebstrap >/dev/null && command -v dpkg-shlibdeps >/dev/null || skip "mmdebstrap or dpkg-dev is not here"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
(cd "$build" && cpack -G DEB -B "$scratch/debs") >"$scratch/log" 2>&1 || fail "cpack ends with $?: $(cat "$scratch/log")"
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
root=$scratch/root
install=$(sed -n 's/^RUN \(apt-get .*\)/\1/p' "$source/packaging/container/Dockerfile")
[ -n "$install" ] || fail "the container installs nothing"
mkdir "$scratch/packages"
cp "$scratch"/debs/*.deb "$scratch/packages"

# shellcheck disable=SC2016  # the hook's own variable; the loader's cache and what lies in /var may change
mmdebstrap --quiet --mode=root --variant=minbase --customize-hook="copy-in $scratch/packages /" \
  --customize-hook='chroot "$1" find / -xdev -path /var -prune -o -path /etc/ld.so.cache -prune -o -print | sort >"'"$scratch"'/before"' \
  --customize-hook="chroot \"\$1\" sh -c '$install'" "$codename" "$root" \
  >"$scratch/log" 2>&1 || {
  [ ! -e "$scratch/before" ] || fail "$(tail -n 30 "$scratch/log")"
  skip "$(tail -n 3 "$scratch/log")" # no root was made
}

# With /proc, as every system has it; the mount ends with the command.
inside() {
  # shellcheck disable=SC2016  # the inner shell's
  unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$0" "$@"' "$root" "$@"
}
# says PATTERN COMMAND...: COMMAND ends well inside and prints PATTERN.
says() {
  local pattern=$1
  shift
  inside "$@" >"$scratch/out" 2>"$scratch/errors" || fail "$* ends with $?: $(cat "$scratch/out" "$scratch/errors")"
  grep -q -E "$pattern" "$scratch/out" || fail "$* prints no '$pattern' but: $(cat "$scratch/out" "$scratch/errors")"
}
says '^layer /usr/share/gemm-tune/winners/sm_90-nvidia-h100.*: [1-9][0-9]* winners$' gemm-tune --version
says '^512x512x512 on .* enumerated' gemm-tune --arch sm_90 --sizes 512 --dry-run
says '^512x512x512  exact' gemm-tune best --arch sm_90 --sizes 512
says '^ran$' gemm-tune run -- echo ran
says 'libgemm_tune\.so\.0 .* => /' ldconfig -p
status=0
inside gemm-tune --arch sm_90 --sizes 64 --budget 1 >"$scratch/out" 2>"$scratch/errors" || status=$?
[ $status -eq 3 ] && grep -q 'NVRTC 13 cannot be opened' "$scratch/errors" || fail "tuning without NVRTC ends with $status: $(cat "$scratch/errors")"
cc -I "$root/usr/include" "$source/examples/library/lookup.c" -o "$root/lookup" "$root/usr/lib/libgemm_tune.so"
says '^[a-z]+ match, ' /lookup

rm "$root/lookup"
inside dpkg --purge gemm-tune gemm-tune-defaults libgemm-tune-dev libgemm-tune0 >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
# But for the libraries of the distribution that came along, and what the program kept for its user.
inside find / -xdev -path /var -prune -o -path /etc/ld.so.cache -prune -o -print | sort >"$scratch/after"
left=$(comm -13 "$scratch/before" "$scratch/after" | grep -i 'gemm.tune' | grep -v '^/root/' || true)
[ -z "$left" ] || fail "left behind: $left"
