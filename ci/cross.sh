#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The C library and its tests for aarch64 on Debian: its cross compiler, and qemu to run the tests.
# Libraries of the other architecture are unpacked below build/, so that the system stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
ci/setup.sh cross
PATH="$PWD/.venv/bin:$PATH"
root=$PWD/build/cross-root
build=build/cross
libraries=(libcmocka0 libcmocka-dev libisal2 libisal-dev libzstd1 libzstd-dev zlib1g zlib1g-dev)

if [ ! -d "$root/usr" ]; then
    mkdir -p "$root/lists/partial" "$root/packages"
    cat > "$root/apt.conf" << EOF
APT::Architectures { "$(dpkg --print-architecture)"; "arm64"; };
Dir::State::lists "$root/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Sandbox::User "root";
EOF
    APT_CONFIG=$root/apt.conf apt-get update -qq
    (cd "$root/packages" \
        && APT_CONFIG=$root/apt.conf apt-get download -qq "${libraries[@]/%/:arm64}")
    for package in "$root"/packages/*.deb; do dpkg -x "$package" "$root"; done
    # Of Debian 12 zlib alone is in /lib.
    mv "$root"/lib/aarch64-linux-gnu/* "$root/usr/lib/aarch64-linux-gnu/"
    ln -sf libz.so.1 "$root/usr/lib/aarch64-linux-gnu/libz.so"
fi

cat > build/cross.ini << EOF
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkg-config = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu', '-E',
  'LD_LIBRARY_PATH=$root/usr/lib/aarch64-linux-gnu']
[properties]
pkg_config_libdir = '$root/usr/lib/aarch64-linux-gnu/pkgconfig'
sys_root = '$root'
[built-in options]
c_args = ['-isystem', '$root/usr/include', '-isystem', '$root/usr/include/aarch64-linux-gnu']
c_link_args = ['-L$root/usr/lib/aarch64-linux-gnu']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
EOF
[ -f "$build/build.ninja" ] \
    || meson setup "$build" --cross-file build/cross.ini -Dwerror=true -Dpython=disabled \
        -Disal=enabled -Dzlib=enabled -Dzstd=enabled -Dtests=enabled > /dev/null
ninja -C "$build" --quiet
meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 20
