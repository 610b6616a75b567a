#!/usr/bin/env bash
# Functions shared by the scripts; sourced, not run. After sourcing, the current directory is the repository root.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages=(cmake ninja-build g++ make pkg-config git mpich libmpich-dev libhdf5-mpich-dev libcli11-dev
  libtomlplusplus-dev libfmt-dev)
picture_packages=(python3 python3-h5py python3-matplotlib)
test_packages=(catch2)

say() { printf '\n== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# quietly COMMAND...: its output is shown only where it fails.
quietly() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]; }

# True where a package is not needed because its program was installed by other means.
is_provided() {
  case $1 in
    cmake) command -v cmake >/dev/null && cmake_is_recent ;;
    ninja-build) command -v ninja >/dev/null ;;
    git) command -v git >/dev/null ;;
    *) false ;;
  esac
}

cmake_is_recent() {
  local version
  version=$(cmake --version | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
  [[ $(printf '3.25\n%s\n' "$version" | sort -V | head -n 1) == 3.25 ]]
}

# install_packages PACKAGE...: installs those that are missing, through apt.
install_packages() {
  local package missing=() as_root=()
  if ! command -v apt-get >/dev/null; then
    echo "note: no apt-get here; mhdsim needs what these Debian packages hold: $*" >&2
    return 0
  fi
  for package in "$@"; do
    is_installed "$package" || is_provided "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || die "these packages are missing, and there is neither root nor sudo: ${missing[*]}"
    as_root=(sudo)
    sudo -v || die "sudo was refused; these packages are missing: ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -y -q)
  quietly "${as_root[@]}" update || die "apt-get update failed: is there a network? (missing: ${missing[*]})"
  quietly "${as_root[@]}" install --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install: ${missing[*]}"
  if [[ " ${missing[*]} " == *" cmake "* ]]; then
    cmake_is_recent || die "CMake 3.25 or newer is needed, found: $(cmake --version | head -n 1)"
  fi
}

# The cores that this process may use: its affinity, and the quota of its container.
cores() {
  local count quota period
  count=$(nproc)
  if [[ -r /sys/fs/cgroup/cpu.max ]]; then
    read -r quota period </sys/fs/cgroup/cpu.max
    if [[ $quota != max ]] && ((quota / period < count)); then
      count=$((quota / period > 0 ? quota / period : 1))
    fi
  fi
  echo "$count"
}

# The first python3 that has what the pictures need: one on the PATH may lack the system's packages.
python_with_pictures() {
  local candidate
  for candidate in "${PYTHON:-python3}" python3 /usr/bin/python3; do
    if "$candidate" -c 'import h5py, matplotlib' >/dev/null 2>&1; then
      echo "$candidate"
      return 0
    fi
  done
  die "no python3 with h5py and matplotlib was found; set PYTHON to one"
}

# configure PRESET
configure() {
  say "configuring build/$1"
  quietly cmake --preset "$1" "${@:2}" || die "cmake --preset $1 failed"
}

# build PRESET [TARGET...]
build() {
  local targets=()
  (($# > 1)) && targets=(--target "${@:2}")
  say "building build/$1"
  cmake --build --preset "$1" -j "$(cores)" "${targets[@]}"
}

# The mpiexec that belongs to the MPI of a configured build.
mpiexec_of() { sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "build/$1/CMakeCache.txt"; }
