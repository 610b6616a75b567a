#!/usr/bin/env bash
# Builds an MPICH that accepts device pointers: scripts/build_mpich_cuda.sh PREFIX [SOURCE_TARBALL]
#
# Without SOURCE_TARBALL the distribution's own MPICH sources are fetched through apt (Debian 12: 4.0.2, built here with
# the patch in scripts/mpich/). The library has the name and ABI of Debian's (libmpich.so.12), so that an mhdsim
# built with Debian's mpicxx runs on either. Needs nvcc, compilers for C and C++, make, patch, xz, python3, but no GPU;
# takes a quarter of an hour on two idle cores and 700 MB while it builds. From the environment:
#   CUDA                  the toolkit's folder [the one of nvcc on the PATH, else /usr/local/cuda]
#   CUDA_SM               compute capability without the dot [that of the first GPU here, else 90]
#   JOBS                  compilers at a time [all cores]
#   MPICH_WORK            folder to build in, kept [a temporary one, kept only if something fails]
#   MPICH_CONFIGURE       more arguments for MPICH's configure, which take precedence, e.g. "--with-device=ch4:ucx
#                         --with-ucx=/opt/ucx" for a UCX that was built with CUDA
usage() {
  sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
}
case ${1:-} in
  -h | --help) usage && exit 0 ;;
  '' | -*) usage >&2 && exit 2 ;;
esac
if (($# > 2)); then usage >&2 && exit 2; fi
prefix=$(realpath -m -- "$1")
tarball=${2:+$(realpath -m -- "$2")}
work=${MPICH_WORK:+$(realpath -m -- "$MPICH_WORK")}
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
ours=$PWD/scripts/mpich

# --- what is needed --------------------------------------------------------------------------------------------------

cuda=${CUDA:-}
if [[ -z $cuda ]]; then
  nvcc=$(command -v nvcc || true)
  cuda=${nvcc:+$(dirname "$(dirname "$(readlink -f "$nvcc")")")}
  cuda=${cuda:-/usr/local/cuda}
fi
[[ -x $cuda/bin/nvcc ]] ||
  die "no nvcc in $cuda/bin: MPICH needs the CUDA toolkit; put nvcc on the PATH or set CUDA to the toolkit's folder"
for program in gcc g++ make patch xz python3; do
  command -v "$program" >/dev/null || die "$program is missing"
done
[[ -z $tarball || -r $tarball ]] || die "no source: $tarball cannot be read"
[[ ! -e $prefix || -w $prefix ]] || die "$prefix is not writable"

sm=${CUDA_SM:-}
if [[ -z $sm ]] && command -v nvidia-smi >/dev/null; then
  sm=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n '1s/\.//p' || true)
fi
[[ $sm =~ ^[0-9]+$ ]] || sm=90
jobs=${JOBS:-$(cores)}

temporary=
if [[ -z $work ]]; then
  work=$(mktemp -d)
  temporary=$work
fi
mkdir -p "$work"
cd "$work"

# logged LOG COMMAND...: its output goes to a file, whose end is shown where it fails.
logged() {
  local log=$work/$1
  shift
  "$@" >"$log" 2>&1 </dev/null || {
    tail -n 30 "$log" >&2
    die "this failed: $* (all of its output: $log)"
  }
}

# --- the source ------------------------------------------------------------------------------------------------------

# Through apt, but with lists of its own: the system's are left as they are and may lack sources.
fetch_source() {
  command -v apt-get >/dev/null ||
    die "no source: there is no apt-get here; give MPICH's source tarball (www.mpich.org) as the second argument"
  local ID='' VERSION_CODENAME='' mirror keyring components=main
  source /etc/os-release
  [[ $ID == ubuntu ]] && components="main universe"
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
    awk -v suite="$VERSION_CODENAME" '$2 == suite && !found {print $1; found = 1}')
  keyring=/usr/share/keyrings/$ID-archive-keyring.gpg
  [[ -n $mirror && -r $keyring ]] ||
    die "no source: apt knows no mirror of $ID $VERSION_CODENAME; give MPICH's source tarball as the second argument"
  mkdir -p apt/parts apt/lists/partial
  printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: %s\nSigned-By: %s\n' "$mirror" "$VERSION_CODENAME" \
    "$components" "$keyring" >apt/parts/sources.sources
  local apt=(apt-get -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/apt/parts"
    -o "Dir::State::lists=$work/apt/lists")
  logged apt.log "${apt[@]}" update
  logged apt-source.log "${apt[@]}" source --download-only mpich
}

if [[ -z $tarball ]]; then
  say "fetching the source through apt"
  compgen -G 'mpich_*.orig.tar.*[0-9a-z]' >/dev/null || fetch_source
  tarball=$(find "$work" -maxdepth 1 -name 'mpich_*.orig.tar.?z*' ! -name '*.asc' | head -n 1)
  [[ -n $tarball ]] || die "no source: apt-get source mpich brought no mpich_*.orig.tar.*"
fi
say "unpacking $tarball"
rm -rf source build
mkdir source build
tar -xf "$tarball" -C source --strip-components=1 || die "$tarball cannot be unpacked"
version=$(sed -n "s/^PACKAGE_NAME='MPICH'$/MPICH/p; s/^PACKAGE_VERSION='\(.*\)'$/\1/p" source/configure 2>/dev/null |
  tr '\n' ' ' || true)
[[ $version == "MPICH "* ]] || die "$tarball is no release of MPICH: expected a configure of MPICH in it"
version=$(cut -d' ' -f2 <<<"$version")
echo "MPICH $version"

# --- changes ---------------------------------------------------------------------------------------------------------

# Kernels for derived datatypes nested two deep instead of three (mhdsim uses none on device memory), in 9 source files
# instead of 279: nvcc takes longer to start than to compile one of them.
reduce_kernels() {
  cd source/modules/yaksa
  local backend type file
  for backend in seq cuda; do
    PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 python3 src/backend/$backend/genpup.py --pup-max-nesting=2
  done
  cd src/backend/cuda/pup
  for type in _Bool char double float int16_t int32_t int64_t int8_t wchar_t; do
    for file in yaksuri_cudai_pup_*_"$type".cu; do
      cat "$file" >>"yaksuri_cudai_pup_$type.cu"
      : >"$file"
    done
  done
  cd "$work"
}

patch_file=$ours/mpich-4.0.2.patch
if [[ $version == 4.0.2 ]]; then
  say "patching: for CUDA 13, nodes without a GPU, and IPC (see ${patch_file##*/})"
  logged patch.log patch -d source -p1 -i "$patch_file"
  reduce_kernels
  # In the order in which they are made from each other, so that make does not call autoconf and automake.
  for name in aclocal.m4 configure Makefile.in '*.h.in'; do
    sleep 1
    find source -name "$name" -exec touch {} +
  done
else
  echo "The patch is for MPICH 4.0.2: this version is built as it is."
fi

# --- build -----------------------------------------------------------------------------------------------------------

say "configuring for compute capability $sm with $cuda"
# The toolkit's stub of libcuda serves a check of libfabric's configure; nothing links to it.
export LIBRARY_PATH=$cuda/lib64/stubs${LIBRARY_PATH:+:$LIBRARY_PATH} MPILIBNAME=mpich
read -r -a more <<<"${MPICH_CONFIGURE:-}"
cd build
logged configure.log ../source/configure --prefix="$prefix" --with-device=ch4:ofi --with-libfabric=embedded \
  --disable-verbs --disable-efa --disable-psm2 --with-hwloc=embedded --with-cuda="$cuda" --with-cuda-sm="$sm" \
  --enable-cuda-dlopen --disable-fortran --enable-fast=O2,ndebug --without-slurm --disable-doc --with-pm=hydra \
  --enable-shared --disable-static --disable-rpath --disable-wrapper-rpath "${more[@]}"
say "building with $jobs compilers at a time"
logged make.log make -j"$jobs" V=0
say "installing into $prefix"
logged install.log make install
cd "$work"

# The CUDA runtime beside it, for nodes without the toolkit, and both names under which programs look for the library.
cp -a "$cuda"/lib64/libcudart.so.* "$prefix/lib/"
[[ -e $prefix/lib/libmpi.so.12 ]] || ln -s libmpich.so.12 "$prefix/lib/libmpi.so.12"

# --- check -----------------------------------------------------------------------------------------------------------

say "checking"
export LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
logged smoke.log "$prefix/bin/mpicc" -O2 -I"$cuda/include" "$ours/gpu_smoke_test.c" -o "$prefix/bin/gpu_smoke_test" \
  -L"$cuda/lib64" -lcudart
"$prefix/bin/mpiexec" -n 2 "$prefix/bin/gpu_smoke_test" ||
  die "the library in $prefix does not pass its check, see above"
[[ -z $temporary ]] || rm -rf "$temporary"

cat <<TEXT

This MPICH is in $prefix. To run mhdsim on it (built with Debian's MPICH, or with $prefix/bin/mpicxx):

  export LD_LIBRARY_PATH=$prefix/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
  $prefix/bin/mpiexec -n 2 build/release/mhdsim run configs/quickstart.toml

On a machine with GPUs, $prefix/bin/mpiexec -n 2 $prefix/bin/gpu_smoke_test
sends device memory to and fro and checks every byte. docs/clusters.md says more.
TEXT
