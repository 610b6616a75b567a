#!/usr/bin/env bash
# A Slurm of one node with all of its state in one folder, beside any other Slurm and munge of the machine; sourced.
#
#   start_slurm DIRECTORY CPUS   starts munged, slurmctld and slurmd; exports SLURM_CONF for sbatch, srun, squeue, ...
#   stop_slurm                   ends them and all of their jobs; may be called at any time and more than once

slurm_directory=

# A port that nothing listens on.
free_port() {
  local port
  while true; do
    port=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

write_slurm_conf() {
  local cpus=$1 host user
  host=$(hostname -s)
  user=$(id -un)
  cat >"$slurm_directory/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
CredType=cred/munge
# A requeued job waits until its old credential has expired: two minutes by default, five seconds at least.
AuthInfo=socket=$slurm_directory/munge/socket,cred_expire=6
StateSaveLocation=$slurm_directory/state
SlurmdSpoolDir=$slurm_directory/spool
SlurmctldLogFile=$slurm_directory/slurmctld.log
SlurmdLogFile=$slurm_directory/slurmd.log
SlurmctldPidFile=$slurm_directory/slurmctld.pid
SlurmdPidFile=$slurm_directory/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
MpiDefault=none
ReturnToService=2
KillWait=5
# GPUs to count and assign, without devices.
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus Gres=gpu:2 RealMemory=1000 State=UNKNOWN
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
CONF
}

start_slurm() {
  local tries
  slurm_directory=$1
  mkdir -p "$slurm_directory"/{state,spool,munge}
  chmod 755 "$slurm_directory" "$slurm_directory/munge"
  head -c 128 /dev/urandom >"$slurm_directory/munge/key"
  chmod 600 "$slurm_directory/munge/key"
  munged --key-file="$slurm_directory/munge/key" --socket="$slurm_directory/munge/socket" \
    --pid-file="$slurm_directory/munge/pid" --log-file="$slurm_directory/munge/log" \
    --seed-file="$slurm_directory/munge/seed" || return 1
  write_slurm_conf "$2"
  ln -s /dev/null "$slurm_directory/gpu0"
  ln -s /dev/null "$slurm_directory/gpu1"
  echo "Name=gpu File=$slurm_directory/gpu[0-1]" >"$slurm_directory/gres.conf"
  export SLURM_CONF=$slurm_directory/slurm.conf
  slurmctld -c || return 1
  slurmd || return 1
  for ((tries = 0; tries < 150; tries++)); do
    [[ $(sinfo -h -o %t 2>/dev/null) == idle ]] && return 0
    sleep 0.2
  done
  tail -n 20 "$slurm_directory"/slurm*.log >&2
  return 1
}

stop_slurm() {
  [[ -n $slurm_directory ]] || return 0
  local name pid tries
  scancel --full --signal=KILL --user="$(id -un)" 2>/dev/null
  scancel --user="$(id -un)" 2>/dev/null
  for ((tries = 0; tries < 50; tries++)); do
    [[ -n $(squeue --noheader 2>/dev/null) ]] || break
    sleep 0.2
  done
  for name in slurmd.pid slurmctld.pid munge/pid; do
    pid=$(cat "$slurm_directory/$name" 2>/dev/null) || continue
    kill "$pid" 2>/dev/null && await_end "$pid"
  done
  # What is left of jobs that were being started or ended meanwhile.
  for pid in /proc/[0-9]*; do
    pid=${pid#/proc/}
    [[ $pid == "$$" ]] || ! grep -qsz "^SLURM_CONF=$slurm_directory/" "/proc/$pid/environ" ||
      kill -KILL "$pid" 2>/dev/null
  done
}

# Ten seconds for a daemon to end by itself.
await_end() {
  local tries
  for ((tries = 0; tries < 50; tries++)); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.2
  done
  kill -KILL "$1" 2>/dev/null
}
