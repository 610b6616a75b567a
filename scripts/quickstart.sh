#!/usr/bin/env bash
# From a fresh machine to a finished run and its picture: installs what is missing, builds, runs configs/quickstart.toml
# on all GPUs, or on all cores where there is none. May be repeated. The environment variable MHDSIM_PRESET names another preset than release.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

preset=${MHDSIM_PRESET:-release}
config=configs/quickstart.toml
run=runs/quickstart

install_packages "${build_packages[@]}" "${picture_packages[@]}"
configure "$preset"
build "$preset" mhdsim
mhdsim=build/$preset/mhdsim

# One rank per GPU; without one as many as cores, or the next smaller number that the grid can be divided over.
ranks=$(cores)
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
if [[ $("$mhdsim" --version) == *gpu* ]] && ((gpus > 0)); then ranks=$gpus; fi
until "$mhdsim" check "$config" --ranks "$ranks" >/dev/null 2>&1 || ((ranks == 1)); do ranks=$((ranks - 1)); done

say "running $config on $ranks ranks"
"$(mpiexec_of "$preset")" -n "$ranks" "$mhdsim" run "$config" --output "$run" --overwrite </dev/null

say "drawing"
"$(python_with_pictures)" scripts/plot.py "$run"

say "files"
find "$run" -type f -printf '%10s bytes  %p\n' | sort -k 3

pictures=("$run"/*.png)
[[ -e ${pictures[0]} ]] || die "scripts/plot.py drew no picture in $run"
say "pictures"
printf '%s\n' "${pictures[@]/#/$PWD/}"
