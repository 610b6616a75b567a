#!/usr/bin/env bash
# The batch scripts under a real Slurm of one node, which this test starts: a run over PMI2, arrays, a chain, and runs
# that are stopped, requeued and continued until they are done. Exit code 77: skipped.
#
# Environment: MHDSIM, MHD_SOURCE_DIR; MHDSIM_SLURM_KEEP=1 keeps the folder with all logs.

set -uo pipefail
mhdsim=${MHDSIM:?set MHDSIM to the executable}
export MHDSIM_ROOT=${MHD_SOURCE_DIR:?set MHD_SOURCE_DIR to the repository}
export MHDSIM
python=${PYTHON:-python3}
source "$MHDSIM_ROOT/tests/slurm/one_node.sh"

skip() {
  echo "skipped: $*"
  exit 77
}

failures=0
check() { # check TEXT COMMAND...
  local text=$1
  shift
  if "$@"; then
    echo "ok: $text"
  else
    echo "FAILED: $text"
    failures=$((failures + 1))
  fi
}
same() { [[ $1 == "$2" ]] || { echo "  expected: $2"; echo "  found:    $1"; false; }; }
says() { grep -q -- "$1" "$2" || { echo "  no '$1' in $2:"; tail -n 20 "$2" 2>/dev/null | sed 's/^/    /'; false; }; }

# --- Slurm itself ----------------------------------------------------------------------------------------------------

has_slurm() {
  local program
  for program in munged slurmctld slurmd sbatch srun; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || return 1
  done
}

export PATH=$PATH:/usr/sbin:/sbin
if ! has_slurm; then
  [[ $(id -u) == 0 ]] || skip "Slurm is not installed (Debian: slurm-wlm, munge), and installing it needs root"
  command -v apt-get >/dev/null || skip "Slurm is not installed, and there is no apt-get"
  export DEBIAN_FRONTEND=noninteractive
  apt=(apt-get -o DPkg::Lock::Timeout=60 -o Acquire::Retries=0 -y -q)
  { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends slurm-wlm munge; } >/dev/null 2>&1 </dev/null
  has_slurm || skip "slurm-wlm and munge could not be installed by apt-get"
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/mhdsim-slurm-XXXXXX")
chmod 755 "$folder"
clean_up() {
  stop_slurm
  if [[ ${MHDSIM_SLURM_KEEP:-0} == 1 ]]; then echo "kept: $folder"; else rm -rf "$folder"; fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# Nothing of a launcher or a Slurm job that this test may run in.
for variable in $(compgen -e | grep -E '^(SLURM|SBATCH|SRUN|PMI|PMIX|OMPI_COMM)_' || true); do unset "$variable"; done

start_slurm "$folder/slurm" 2 || { echo "FAILED: Slurm does not start"; exit 1; }
echo "Slurm $(sinfo --version | cut -d' ' -f2) on $(hostname -s), ready after $SECONDS s"

if "$mhdsim" --version | grep -q "Open MPI"; then
  srun --mpi=list 2>&1 | grep -q pmix || skip "mhdsim is built with Open MPI, and this Slurm has no PMIx"
  export MHDSIM_PMI=pmix
fi

# submit NAME OPTION... : the id of a job whose log is NAME.log; on CPUs unless an option says otherwise.
submit() {
  sbatch --parsable --chdir="$folder" --job-name="$1" --output=%x.log --gpus-per-node=0 --kill-on-invalid-dep=yes \
    "${@:2}"
}

state() { scontrol show job "$1" 2>/dev/null | sed -n 's/^ *JobState=\([A-Z_]*\).*/\1/p' | sort -u | tr '\n' ' '; }
property() { scontrol show job "$1" | sed -n "s/.* $2=\([^ ]*\).*/\1/p" | head -n 1; }

# await TEXT SECONDS COMMAND...: until the command succeeds.
await() {
  local text=$1 limit=$((SECONDS + $2))
  shift 2
  until "$@"; do
    ((SECONDS < limit)) || { echo "FAILED: waited in vain for: $text"; failures=$((failures + 1)); return 1; }
    sleep 0.2
  done
}
ended() { [[ $(state "$1") =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY|\ )+$ ]]; }
rows() { [[ $(wc -l 2>/dev/null <"$1/series.csv") -gt $2 ]]; }
requeued() { [[ $(property "$1" Restarts) -ge 1 ]]; }
requeued_or_ended() { requeued "$1" || ended "$1"; }
rows_or_ended() { rows "$2" "$3" || ended "$1"; }
summary() { sed -n "s/^$2 = //p" "$1/summary.toml"; }

# --- the runs --------------------------------------------------------------------------------------------------------

cat >"$folder/base.toml" <<'TOML'
[grid]
cells = [16, 12, 14]
[time]
dt = 0.002
max_steps = 20
[physics]
viscosity = 0.02
resistivity = 0.02
conduction = 0.02
[initial]
kind = "random"
low = -0.01
high = 0.01
[output]
series_every_steps = 5
[run]
backend = "cpu"
TOML
cd "$folder" || exit 1
scripts=$MHDSIM_ROOT/scripts/slurm

# A run that reaches its end, with the GPUs that the node says it has.
first_job=$(submit first --ntasks-per-node=2 --gpus-per-node=2 "$scripts/run.sbatch" base.toml first)
# Ranks that srun does not connect are refused, and the chain ends.
lonely_job=$(MHDSIM_PMI=none submit lonely --ntasks-per-node=2 "$scripts/run.sbatch" \
  base.toml lonely)
# The next link of a chain: only after the one before is complete; finds that nothing is left to do.
next_job=$(submit next --dependency="afterok:$first_job" --ntasks-per-node=2 \
  "$scripts/run.sbatch" base.toml first)
other_job=$(submit other --dependency="afternotok:$lonely_job" --ntasks-per-node=1 \
  "$scripts/run.sbatch" base.toml other)

# A run that stops at every attempt where it began.
cat >stuck.sh <<'STUCK'
#!/bin/sh
exit 9
STUCK
chmod +x stuck.sh
stuck_job=$(MHDSIM=$folder/stuck.sh submit stuck --ntasks-per-node=1 "$scripts/run.sbatch" \
  base.toml stuck)

# Arrays: by hand, and of a scan.
printf '%s\n' "base.toml 'by hand/0'" "base.toml 'by hand/1' --set 'initial.kind=\"uniform\"'" >list.txt
array_job=$(submit array --array=0-1 --ntasks=2 "$scripts/array.sbatch" list.txt)
cat >scan.toml <<'TOML'
config = "base.toml"
directory = "scan"
name = "s{initial.seed}"
ranks = 2
[product]
initial.seed = [1, 2, 3]
[slurm]
time = "00:05:00"
TOML
"$python" "$MHDSIM_ROOT/scripts/scan.py" scan.toml >scan.txt 2>&1 || cat scan.txt
scan_job=$(sbatch --parsable scan/scan.sbatch)

restarts=no
if "$mhdsim" run --help | grep -q -- --restart; then
  restarts=yes
  # Long enough to be interrupted twice, a few hundred steps after each start.
  long=(--set time.max_steps=6000 --set output.series_every_steps=50 --set 'grid.cells=[24,20,16]')
  broken_job=$(submit broken --ntasks-per-node=1 "$scripts/run.sbatch" base.toml broken "${long[@]}")
  after_job=$(submit after --dependency="afterok:$broken_job" --ntasks-per-node=1 --wrap \
    "sed -n 's/^status = //p' broken/summary.toml")
  # A run without end against a limit of one minute; Slurm looks at limits twice a minute.
  limited_job=$(submit limited --time=1 --signal=USR1@40 --ntasks-per-node=1 \
    "$scripts/run.sbatch" base.toml limited --set time.max_steps=1000000000 --set output.series_every_steps=100000)
fi

interrupt_broken() {
  local previous=0
  await "rows of the broken run" 60 rows_or_ended "$broken_job" broken 10 && scancel --signal=USR1 "$broken_job"
  await "the broken run is requeued" 30 requeued_or_ended "$broken_job"
  previous=$(wc -l <broken/series.csv)
  await "the broken run goes on" 60 rows_or_ended "$broken_job" broken $((previous + 10)) &&
    scancel --signal=USR1 "$broken_job"
}
[[ $restarts == no ]] || interrupt_broken

# --- what came of them -----------------------------------------------------------------------------------------------

whole() { # whole DIRECTORY [options]: the same run without Slurm, on one rank
  "$mhdsim" run base.toml --output "$@" >/dev/null
}
equal() { cmp "$1/series.csv" "$2/series.csv" && "$mhdsim" diff "$(last "$1")" "$(last "$2")" >/dev/null; }
last() { printf '%s\n' "$1"/snapshot_*.h5 | tail -n 1; }

await "the first run ends" 60 ended "$first_job"
check "a run over ${MHDSIM_PMI:-pmi2} completes" same "$(state "$first_job")" "COMPLETED "
check "... on two ranks that know each other" same "$(summary first ranks)" 2
whole alone
check "... with the bits of a run without Slurm" equal alone first

await "the run of unconnected ranks ends" 60 ended "$lonely_job"
check "unconnected ranks are refused with exit code 4" same "$(property "$lonely_job" ExitCode)" 4:0
check "... with what to do about it" says "srun --mpi=pmi2" lonely.log

await "the chain ends" 60 ended "$next_job"
check "afterok: the next job of a chain finds the run complete" says "is complete: nothing to do" next.log
await "afternotok" 60 ended "$other_job"
check "afternotok: runs where the job before has failed" same "$(summary other status)" '"complete"'

await "the array ends" 90 ended "$array_job"
check "an array job runs each line of its list" same "$(state "$array_job")" "COMPLETED "
check "... in its directory" equal alone "by hand/0"
check "... with its options" grep -q '^kind = "uniform"' "by hand/1/config.toml"

await "the array of the scan ends" 90 ended "$scan_job"
check "the array of a scan completes" same \
  "$("$python" "$MHDSIM_ROOT/scripts/scan.py" scan.toml --status | tail -n 1)" "3 runs: 3 complete"
check "... with the bits of a run without Slurm" equal alone scan/s1

await "the stuck run ends" 60 ended "$stuck_job"
check "a run without progress is not requeued for ever" same \
  "$(property "$stuck_job" ExitCode) $(wc -l <stuck/attempts.txt)" "9:0 2"
check "... and says so" says "2 attempts began at step 0" stuck.log

if [[ $restarts == yes ]]; then
  await "the broken run ends" 90 ended "$broken_job"
  check "a run that is stopped twice completes" same "$(state "$broken_job")" "COMPLETED "
  check "... in three attempts, two of them from a checkpoint" same \
    "$(wc -l <broken/attempts.txt) $(grep -c 'from step [1-9]' broken.log)" "3 2"
  whole unbroken "${long[@]}"
  check "... with the bits of an unbroken run" equal unbroken broken
  await "afterok" 30 ended "$after_job"
  check "afterok waits through all attempts" same "$(cat after.log)" '"complete"'

  await "the limit of the run without end" 90 requeued_or_ended "$limited_job"
  check "a run that meets its limit leaves a checkpoint" test -n "$(compgen -G 'limited/checkpoint_*.h5')"
  # In the log: the next attempt, which may be running already, has removed summary.toml.
  check "... says that it stopped early" says '^stopped: \(SIGUSR1\|time limit\)' limited.log
  await "the second attempt starts" 30 says "attempt 2.*from step [1-9]" limited.log >/dev/null
  touch limited/STOP
  await "the run without end obeys" 60 ended "$limited_job"
  check "a STOP file ends a run and its chain" says "STOP file: not requeued" limited.log
else
  echo "skipped: stopping, requeueing and continuing (this mhdsim has no --restart)"
fi

echo "slurm: $failures failures after $SECONDS s"
if ((failures)); then
  tail -n 15 slurm/slurmctld.log
  exit 1
fi
