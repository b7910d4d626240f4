#!/bin/sh
# Installs what building, testing or measuring leakscope needs and the system lacks: Debian packages, as root or
# through sudo. Says nothing when all is there. Without apt it names what is missing and fails.
#
#   scripts/setup.sh build|test|bench
set -eu

lib=/usr/lib/x86_64-linux-gnu
llvm=${LLVM_SYS_191_PREFIX:-/usr/lib/llvm-19}

# A command or a file that must be there, and the package that brings it. Each purpose includes `build`.
build="
gcc                         gcc
g++                         g++
/usr/include/stdlib.h       libc6-dev
objcopy                     binutils
make                        make
clang-19                    clang-19
clang++-19                  clang-19
llvm-ar-19                  llvm-19
$llvm/bin/llvm-config       llvm-19
$llvm/lib/libLLVM-19.so     llvm-19-dev
$llvm/lib/libclang-19.so.1  libclang1-19
valgrind                    valgrind
$lib/libz3.so.4             libz3-4
"
leak_sanitizer="$llvm/lib/clang/19/lib/linux/libclang_rt.lsan-x86_64.a libclang-rt-19-dev"
test="$build
$leak_sanitizer
aclocal                     automake
autoreconf                  autoconf
libtoolize                  libtool
ccache                      ccache
cmake                       cmake
meson                       meson
ninja                       ninja-build
pkg-config                  pkg-config
prlimit                     util-linux
go                          golang-go
promtool                    prometheus
gdb                         gdb
z3                          z3
"
bench="$build
$leak_sanitizer
dpkg-source                 dpkg-dev
heaptrack                   heaptrack
tclsh                       tcl
lua5.4                      lua5.4
sqlite3                     sqlite3
bzip2                       bzip2
zstd                        zstd
tcc                         tcc
cppcheck                    cppcheck
redis-benchmark             redis-tools
$lib/libjemalloc.so.2       libjemalloc2
/usr/include/zlib.h         zlib1g-dev
"

# The packages of a list that are missing, each once.
missing() {
    echo "$1" | while read -r thing package; do
        case $thing in
        '') ;;
        /*) [ -e "$thing" ] || echo "$package" ;;
        *) command -v "$thing" >/dev/null || echo "$package" ;;
        esac
    done | sort -u | tr '\n' ' '
}

fail() {
    echo "setup: $*" >&2
    exit 1
}

case ${1-} in
build) needed=$build ;;
test) needed=$test ;;
bench) needed=$bench ;;
*) fail "expected build, test or bench, found \"${1-}\"" ;;
esac

command -v cargo >/dev/null || fail "no Rust toolchain: install Rust 1.88 or later, see https://rustup.rs"
if [ "$1" = test ]; then
    for component in fmt clippy; do
        cargo "$component" --version >/dev/null 2>&1 ||
            fail "cargo $component is missing: rustup component add rustfmt clippy"
    done
fi

packages=$(missing "$needed")
[ -n "$packages" ] || exit 0

command -v apt-get >/dev/null || fail "install what these Debian packages hold, then try again: $packages
(an LLVM 19 elsewhere than /usr/lib/llvm-19 is named by LLVM_SYS_191_PREFIX)"
if [ "$(id -u)" = 0 ]; then
    as_root=env
elif command -v sudo >/dev/null; then
    as_root="sudo env"
else
    fail "not root, and there is no sudo; as root: apt-get install $packages"
fi
echo "setup: installing $packages" >&2
# shellcheck disable=SC2086 # words are meant to split
{
    $as_root apt-get -q update
    $as_root DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $packages
} || fail "apt-get cannot install all of: $packages (they are in Debian 12)"

packages=$(missing "$needed")
[ -z "$packages" ] || fail "installed, but not found: what $packages should have brought"
