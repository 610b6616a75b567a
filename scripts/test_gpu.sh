#!/usr/bin/env bash
# Everything that needs a GPU, into one folder: scripts/test_gpu.sh [FOLDER]. Builds if needed, runs the gpu tests,
# verifies every order and physics against the model solution, runs compute-sanitizer on small grids, and measures.
# MHDSIM, GPU_TESTS and GPU_MPI_TESTS name programs that are already built, e.g. on a machine that cannot build; MPIEXEC
# the launcher; MHDSIM_CUDA_AWARE_MPI=1 says that its MPI takes device memory. Several ranks share a GPU where there are fewer: that tests the bits, not the speed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:-build/gpu-results}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
failures=0

command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 || { echo "skipped: no GPU here"; exit 0; }

if [[ -z ${MHDSIM:-} || -z ${GPU_TESTS:-} || -z ${GPU_MPI_TESTS:-} ]]; then
  source scripts/setup.sh
  install_packages "${build_packages[@]}" "${test_packages[@]}"
  configure release -DMHDSIM_CUDA=ON -DMHDSIM_TESTS=ON
  build release
  MHDSIM=$PWD/build/release/mhdsim
  GPU_TESTS=$PWD/build/release/tests/gpu_tests
  GPU_MPI_TESTS=$PWD/build/release/tests/gpu_mpi_tests
fi
launcher=${MPIEXEC:-mpiexec}

# step NAME COMMAND...: its output goes to NAME.log; one line says how it went.
step() {
  local name=$1
  shift
  if "$@" >"$folder/$name.log" 2>&1 </dev/null; then
    printf '%-44s passed\n' "$name"
  else
    printf '%-44s FAILED\n' "$name"
    tail -n 5 "$folder/$name.log" | sed 's/^/    /'
    failures=$((failures + 1))
  fi
}

# configuration ORDER PHYSICS CELLS: writes a run of random fields and prints its path.
configuration() {
  local order=$1 physics=$2 cells=$3 eos=ideal_gas magnetic=true
  [[ $physics == isothermal || $physics == hydro ]] && eos=isothermal
  [[ $physics == *hydro ]] && magnetic=false
  local file=$folder/verify-$order-$physics-${cells//, /x}.toml
  {
    printf '[grid]\ncells = [%s]\norder = %s\n' "$cells" "$order"
    printf '[time]\nmax_steps = 10\ndt = 1e-3\n'
    printf '[physics]\nequation_of_state = "%s"\nmagnetic = %s\nviscosity = 1e-2\n' "$eos" "$magnetic"
    [[ $magnetic == false ]] || printf 'resistivity = 1e-2\n'
    printf '[initial]\nkind = "random"\nlow = -0.1\nhigh = 0.1\n'
  } >"$file"
  echo "$file"
}

{
  nvidia-smi --query-gpu=index,name,uuid,driver_version,memory.total --format=csv
  "$MHDSIM" --version
} >"$folder/machine.txt" 2>&1
cat "$folder/machine.txt"

step gpu-tests "$GPU_TESTS"
for order in 2 4 6 8; do
  for physics in full isothermal entropy-hydro hydro; do
    for cells in "32, 32, 32" "33, 21, 10"; do
      step "verify-$order-$physics-${cells//, /x}" \
        "$MHDSIM" verify "$(configuration "$order" "$physics" "$cells")" --steps 3 --backend gpu
    done
  done
done
for ranks in 1 2 4 8; do
  step "gpu-mpi-tests-$ranks-ranks" "$launcher" -n "$ranks" "$GPU_MPI_TESTS"
done
step gpu-mpi-tests-launch-blocking env CUDA_LAUNCH_BLOCKING=1 "$GPU_MPI_TESTS" "ten runs*"
for ranks in 2 4 8 16; do
  for transport in auto host_staged peer; do
    for overlap in true false; do
      step "verify-6-full-$ranks-ranks-$transport-overlap-$overlap" "$launcher" -n "$ranks" "$MHDSIM" verify \
        "$(configuration 6 full "33, 40, 28")" --steps 3 --backend gpu --set run.oversubscribe=true \
        --set "run.transport=\"$transport\"" --set run.overlap=$overlap --set run.exchange_corners=$overlap
    done
  done
done
for ranks in 1 2 4; do
  step "halo-verify-$ranks-ranks" "$launcher" -n "$ranks" "$MHDSIM" bench halo --verify --cells 64 --oversubscribe
done
python=${PYTHON:-python3}
if "$python" -c 'import h5py, numpy' 2>/dev/null; then
  step production-runs env MHDSIM="$MHDSIM" MPIEXEC="$launcher" "$python" tests/cli/gpu_production.py
else
  echo "skipped: production runs, for want of a python3 with h5py"
fi
gpus=$(nvidia-smi -L | wc -l)
for ranks in 1 2 4 8; do
  ((ranks <= gpus)) || continue
  for cells in 64 128 256 512; do
    step "bench-halo-$ranks-gpus-$cells" "$launcher" -n "$ranks" "$MHDSIM" bench halo --cells "$cells"
  done
  step "timeline-$ranks-gpus" "$launcher" -n "$ranks" "$MHDSIM" bench halo --cells 256 --timeline
done

if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    for order in 2 6 8; do
      step "$tool-$order" compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$MHDSIM" verify "$(configuration "$order" full "34, 17, 9")" --steps 1 --backend gpu
    done
    step "$tool-hydro" compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$MHDSIM" verify "$(configuration 6 entropy-hydro "34, 17, 9")" --steps 1 --backend gpu
  done
  # One rank that exchanges with itself goes through all stages of the pipeline, whose kernels share no memory.
  for transport in host_staged peer cuda_aware mixed; do
    [[ $transport == host_staged || $transport == peer || -n ${MHDSIM_CUDA_AWARE_MPI:-} ]] || continue
    step "memcheck-exchange-$transport" compute-sanitizer --tool memcheck --error-exitcode 9 \
      "$MHDSIM" bench halo --cells 36 --steps 2 --transport "$transport"
  done
else
  echo "skipped: no compute-sanitizer here"
fi

for cells in 64 128 256 512; do
  step "bench-$cells" "$MHDSIM" bench step --backend gpu --cells "$cells" --json "$folder/bench-$cells.json"
done
for order in 2 4 8; do
  step "bench-256-order-$order" "$MHDSIM" bench step --backend gpu --cells 256 --order "$order" --steps 200 \
    --json "$folder/bench-256-order-$order.json"
done
for physics in isothermal entropy-hydro hydro; do
  step "bench-256-$physics" "$MHDSIM" bench step --backend gpu --cells 256 --physics "$physics" --steps 200 \
    --json "$folder/bench-256-$physics.json"
done
step bench-256-courant "$MHDSIM" bench step --backend gpu --cells 256 --courant --steps 200 \
  --json "$folder/bench-256-courant.json"
cat "$folder"/bench-*.log >"$folder/bench.txt"

printf '\n%s; the results are in %s\n' "$( ((failures == 0)) && echo "all passed" || echo "$failures failed")" "$folder"
((failures == 0))
