#!/usr/bin/env bash
# The direction of dependencies (docs/developing.md): which folder may include what, and what it must not call. Each rule
# names the folders it binds and a pattern of lines that they must not hold. Usage: layering.sh SOURCE_DIR
set -euo pipefail
cd "$1"
failures=0

# forbid "why" PATTERN FOLDER...: no #include line in the folders may name a header that matches PATTERN.
forbid() {
  local why=$1 pattern=$2 found
  shift 2
  found=$(grep -rnE --include='*.hpp' --include='*.cpp' --include='*.cu' --include='*.cuh' \
    "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$@" 2>/dev/null || true)
  if [[ -n $found ]]; then
    printf '%s:\n%s\n' "$why" "$found"
    failures=1
  fi
}

[[ -d core && -d io && -d app ]] || { echo "no source folders in $1"; exit 1; }
forbid 'CUDA headers belong in gpu/' '(cuda|cooperative_groups|nvToolsExt|nvtx3|nvml|cub/)' core io app
forbid 'HDF5 headers belong in io/' '(hdf5|H5[A-Za-z]*)\.h' core gpu app
forbid 'toml++ headers belong in io/' '(toml\+\+|toml\.hpp|io/toml)' core gpu app
forbid 'CLI11 headers belong in app/' 'CLI/' core io gpu
forbid 'fmt belongs in io/ and app/' 'fmt/' core gpu
forbid 'core/ uses the C++ library and MPI only' '(io|gpu|app|tests)/' core
forbid 'io/ uses core/ only' '(gpu|app|tests)/' io
forbid 'gpu/ uses core/ only' '(io|app|tests)/' gpu
forbid 'app/ does not use tests/' 'tests/' app
# What core/ may include: its own headers, mpi.h, compiler intrinsics, and the C++ library (names without dot and path).
others=$(grep -rnE --include='*.hpp' --include='*.cpp' '^[[:space:]]*#[[:space:]]*include' core |
  grep -vE 'include[[:space:]]*("core/[a-z0-9_]+\.hpp"|<mpi\.h>|<[a-z0-9_]+>|<immintrin\.h>)' || true)
if [[ -n $others ]]; then
  printf 'core/ uses the C++ library and MPI only:\n%s\n' "$others"
  failures=1
fi
# forbid_use "why" PATTERN FOLDER...: what the folders must not call.
forbid_use() {
  local why=$1 pattern=$2 found
  shift 2
  found=$(grep -rnE --include='*.hpp' --include='*.cpp' --include='*.cu' --include='*.cuh' "$pattern" "$@" || true)
  if [[ -n $found ]]; then
    printf '%s:\n%s\n' "$why" "$found"
    failures=1
  fi
}
forbid_use 'device memory from pools, or managed, cannot be opened by other processes (CUDA IPC)' \
  'cudaMalloc(Async|FromPoolAsync|Managed)' gpu app
forbid_use 'messages are contiguous: MPI libraries copy derived datatypes in device memory piece by piece' \
  'MPI_(Type_|Pack|Unpack)' core gpu app
exit $failures
