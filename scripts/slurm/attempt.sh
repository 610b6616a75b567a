#!/usr/bin/env bash
# One attempt at a run inside a Slurm job: starts it, or continues it from its newest checkpoint; where it stops early,
# the job is requeued for the next attempt. Called by run.sbatch and array.sbatch; docs/clusters.md explains it.
#
#   attempt.sh CONFIG DIRECTORY [options of mhdsim run]
#
# Environment:
#   MHDSIM_ROOT        repository; its build/release/mhdsim is run unless MHDSIM names another executable
#   MHDSIM_PMI         argument of srun --mpi [pmi2]
#   MHDSIM_SRUN        further options of srun
#   MHDSIM_EXTEND=1    goes on with a run that is complete, because its configuration now ends later
#   MHDSIM_OVERWRITE=1 starts anew where a directory holds files of a run but no checkpoint
#
# Exit code: that of mhdsim; 9 where the run stopped early and the job was not requeued.

set -uo pipefail

stopped=9          # exit code of a run that stopped early with a checkpoint
fruitless_limit=2  # attempts from one and the same step before the chain ends
advice='Give the job more time, or checkpoint more often.'

say() { printf '%(%F %T)T  %s\n' -1 "$*"; }
die() {
  say "attempt.sh: $2" >&2
  exit "$1"
}

# Step of the newest checkpoint in the run directory; -1 where there is none.
newest_step() {
  local file step newest=-1
  for file in "$directory"/checkpoint_*.h5; do
    step=${file##*/checkpoint_}
    step=${step%.h5}
    [[ $step =~ ^[0-9]+$ ]] && ((10#$step > newest)) && newest=$((10#$step))
  done
  echo "$newest"
}

# What summary.toml says of the end of the last attempt.
status() { sed -n 's/^status = "\(.*\)"$/\1/p' "$directory/summary.toml" 2>/dev/null; }

# attempts.txt has a line for each attempt: job, step that it began at, date and time.
# How many attempts of this job, up to the last one, began at the given step.
attempts_from() {
  awk -v job="$job" -v step="$1" '$1 != job { next } { n = $2 == step ? n + 1 : 0 } END { print n + 0 }' "$attempts"
}

# Sets `seconds` to what is left of the job; fails where Slurm tells no limit.
time_left() {
  local end=${SLURM_JOB_END_TIME:-}
  [[ -n $end ]] || end=$(date -d "$(squeue --noheader --jobs="$job" --format=%e)" +%s) || return 1
  seconds=$((end - $(date +%s)))
  # An unlimited job is given an end of a year or more.
  ((seconds > 0 && seconds < 300 * 86400))
}

main() {
  (($# >= 2)) || die 2 "expected CONFIG DIRECTORY [options of mhdsim run], found: $*"
  local config=$1
  directory=${2%/}
  shift 2
  # The id of one element of an array: SLURM_JOB_ID of the last one to start stands for the whole array.
  job=${SLURM_JOB_ID:?attempt.sh runs inside a Slurm job: sbatch scripts/slurm/run.sbatch}
  [[ -z ${SLURM_ARRAY_TASK_ID:-} ]] || job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
  local mhdsim=${MHDSIM:-${MHDSIM_ROOT:?}/build/release/mhdsim}
  [[ -x $mhdsim ]] || die 2 "no executable $mhdsim: build it, or set MHDSIM"

  if [[ $(status) == complete && ${MHDSIM_EXTEND:-0} != 1 ]]; then
    say "$directory is complete: nothing to do (with a later end in $config, continue by MHDSIM_EXTEND=1)"
    exit 0
  fi

  mkdir -p "$directory" || die 6 "cannot create $directory"
  attempts=$directory/attempts.txt
  touch "$attempts" || die 6 "cannot write $attempts"

  local begin
  begin=$(newest_step)
  local -a how=()
  if ((begin >= 0)); then
    how=(--restart latest)
  elif [[ ${MHDSIM_OVERWRITE:-0} == 1 ]] || grep -q "^$job " "$attempts"; then
    # An earlier attempt of this job was lost before its first checkpoint.
    how=(--overwrite)
  fi
  [[ $(status) != complete ]] || ((begin >= 0)) ||
    die 6 "$directory is complete and has no checkpoint to go on from (output.checkpoint_at_end = true leaves one)"
  ((begin >= 0)) || begin=0
  (($(attempts_from "$begin") < fruitless_limit)) ||
    die "$stopped" "$fruitless_limit attempts began at step $begin and left no later checkpoint. $advice"
  printf '%s %s %(%F %T)T\n' "$job" "$begin" -1 >>"$attempts"

  local seconds limit
  if time_left; then
    printf -v limit '%02d:%02d:%02d' $((seconds / 3600)) $((seconds / 60 % 60)) $((seconds % 60))
    how+=(--time-limit "$limit")
  fi

  # Not --kill-on-bad-exit: code 9 of the first rank to end would kill the others. --wait ends a step that lost a
  # rank.
  local -a launch=(srun "--mpi=${MHDSIM_PMI:-pmi2}" "--cpus-per-task=${SLURM_CPUS_PER_TASK:-1}" --cpu-bind=cores
    --kill-on-bad-exit=0 --wait=60)
  # Every rank sees all GPUs of its node and takes the one of its rank on that node.
  [[ -z ${SLURM_GPUS_ON_NODE:-} ]] || launch+=(--gpu-bind=none)
  # shellcheck disable=SC2206  # several options in one variable
  launch+=(${MHDSIM_SRUN:-})

  say "job $job, attempt $((${SLURM_RESTART_COUNT:-0} + 1)): $config in $directory, from step $begin"
  "${launch[@]}" "$mhdsim" run "$config" --output "$directory" "${how[@]}" "$@"
  local code=$? end
  end=$(newest_step)
  ((end >= 0)) || end=0

  ((code == stopped)) || {
    say "job $job ends with exit code $code"
    exit "$code"
  }
  if [[ $(status) == *STOP* ]]; then
    die "$stopped" "stopped by a STOP file: not requeued"
  fi
  (($(attempts_from "$end") < fruitless_limit)) ||
    die "$stopped" "$fruitless_limit attempts began at step $end and ended there: not requeued. $advice"
  say "job $job stopped at step $end: requeueing"
  # The job is pending from here on; Slurm waits two minutes (cred_expire) and runs its script again.
  scontrol requeue "$job" ||
    die "$stopped" "Slurm did not requeue the job: submit it again, or in a chain with --dependency=afterany"
  exit "$stopped"
}

main "$@"
