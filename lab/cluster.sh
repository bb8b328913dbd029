#!/usr/bin/env bash
# A cluster on one Linux machine: hosts are network namespaces, each with a link of its own to a switch (a bridge in
# one more namespace), shaped in both directions, and with a share of a core. Needs root, iproute2 and ethtool.
#
#   lab/cluster.sh up [--hosts 16] [--rate MBIT] [--cpu PERCENT] [--period-ms 20] [--storage-rate MBIT]
#   lab/cluster.sh on HOST COMMAND...     runs COMMAND there; HOST is 1, 2, ... or "storage", which has no CPU limit
#   lab/cluster.sh mpi N COMMAND...       one rank on each of the first N hosts; an hour at most, or LAB_TIMEOUT seconds
#   lab/cluster.sh quota HOST PERCENT     the share of a core that a host has from now on, for stragglers; needs --cpu
#   lab/cluster.sh serve                  Azurite on the storage host, in memory, until it is killed
#   lab/cluster.sh connection             what AZURE_STORAGE_CONNECTION_STRING must be on the hosts
#   lab/cluster.sh down [--all]           kills what runs there and removes it, and what dead owners left; or every lab
#
# A lab belongs to the process that made it, the parent of this one, and has its number in its name; LAB=mwlab-NUMBER
# says otherwise. Without --rate links are as fast as they are, without --cpu hosts use all cores.
# The addresses are known inside of the namespaces only.
set -euo pipefail

self=$(readlink -f "${BASH_SOURCE[0]}")
root=$(dirname "$(dirname "$self")")
prefix=mwlab
lab=${LAB:-$prefix-$PPID}
net=10.213.77
storage=250  # the last number of its address
blob_port=10000 queue_port=10001

fail() {
  echo "cluster.sh: $*" >&2
  exit 2
}

# --- shares of a core: cgroups of version 1 or 2 ---

cgroup_root() {  # where the cpu controller is, and its version
  local at
  at=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,cpu,/ { print $2; exit }' /proc/mounts)
  [ -z "$at" ] || { echo "$at 1" && return; }
  at=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
  [ -n "$at" ] && grep -qw cpu "$at/cgroup.controllers" || fail "--cpu needs a cgroup with the cpu controller"
  echo "$at 2"
}

cgroup_of() {  # cgroup_of HOST: its folder; nothing when the host has no limit
  local at
  for at in $(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts); do
    [ ! -e "$at/$lab-$1/cgroup.procs" ] || { echo "$at/$lab-$1" && return; }
  done
}

limit() {  # limit HOST PERCENT PERIOD_US: what a host may use it gets, whatever else the machine does
  local at version
  read -r at version <<<"$(cgroup_root)"
  [ "$version" = 1 ] || grep -qw cpu "$at/cgroup.subtree_control" || echo +cpu >"$at/cgroup.subtree_control"
  mkdir "$at/$lab-$1"
  local quota=$(($2 * $3 / 100))
  [ $quota -ge 1000 ] || fail "$2 % of $3 us is less than the 1000 us a kernel can hand out: take a longer --period-ms"
  if [ "$version" = 1 ]; then
    echo "$3" >"$at/$lab-$1/cpu.cfs_period_us"
    echo $quota >"$at/$lab-$1/cpu.cfs_quota_us"
    echo 262144 >"$at/$lab-$1/cpu.shares"
  else
    echo "$quota $3" >"$at/$lab-$1/cpu.max"
    echo 10000 >"$at/$lab-$1/cpu.weight"
  fi
}

quota() {  # quota HOST PERCENT: in the period that it has
  local group period
  group=$(cgroup_of "$1")
  [ -n "$group" ] || fail "host $1 has no share of a core: give --cpu to up"
  if [ -e "$group/cpu.cfs_period_us" ]; then
    period=$(cat "$group/cpu.cfs_period_us")
    echo $(($2 * period / 100)) >"$group/cpu.cfs_quota_us"
  else
    period=$(cut -d ' ' -f 2 "$group/cpu.max")
    echo "$(($2 * period / 100)) $period" >"$group/cpu.max"
  fi
}

# --- links ---

shape() {  # shape NAMESPACE INTERFACE MBIT: packets larger than tbf's burst would be dropped, so none are
  ip netns exec "$1" ethtool -K "$2" tso off gso off gro off >/dev/null
  # The burst is what 1.3 ms carry: a larger one would speed up every message.
  local burst=$(($3 * 160))
  burst=$((burst < 4000 ? 4000 : burst > 128000 ? 128000 : burst))
  # A queue of 1000 packets, as Linux gives a network card, or what 100 ms carry. Where rates are low, 100 ms alone
  # would be 80 packets, and a host would drop what it sends itself: a card makes a sender wait instead.
  local queue=$(($3 * 12500))
  queue=$((queue < 1500000 ? 1500000 : queue))
  tc -n "$1" qdisc add dev "$2" root tbf rate "$3mbit" burst $burst limit $queue
}

add_host() {  # add_host HOST NUMBER MBIT
  local name=$lab-$1
  ip netns add "$name"
  ip -n "$name" link set lo up
  ip -n "$name" link add eth0 type veth peer name "port$2" netns "$lab-switch"
  ip -n "$name" address add "$net.$2/24" dev eth0
  ip -n "$name" link set eth0 up
  # Linux's own congestion control, whatever this machine's default is: BBR, which some have, shares a link among
  # short flows badly. A kernel without cubic keeps its default.
  ip -n "$name" route replace "$net.0/24" dev eth0 scope link src "$net.$2" congctl lock cubic 2>/dev/null || true
  ip -n "$lab-switch" link set "port$2" master bridge up
  [ "$3" = 0 ] || { shape "$name" eth0 "$3" && shape "$lab-switch" "port$2" "$3"; }
}

up() {
  local hosts=16 rate=0 cpu=0 period_ms=20 storage_rate=0 i
  while [ $# -gt 0 ]; do
    [[ ${2-} =~ ^[0-9]+$ ]] || fail "$1 needs a whole number"
    case $1 in
      --hosts) hosts=$2 ;;
      --rate) rate=$2 ;;
      --cpu) cpu=$2 ;;
      --period-ms) period_ms=$2 ;;
      --storage-rate) storage_rate=$2 ;;
      *) fail "up: $1 is no flag; see the head of this script" ;;
    esac
    shift 2
  done
  [ "$hosts" -ge 1 ] && [ "$hosts" -le 200 ] || fail "--hosts is 1 to 200"
  for i in ip tc ethtool nsenter unshare; do
    command -v $i >/dev/null || fail "needs $i (Debian, Ubuntu: apt-get install iproute2 ethtool util-linux)"
  done
  trap 'down_one "$lab"' EXIT # until all is there
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  down
  ip netns add "$lab-switch"
  ip -n "$lab-switch" link add bridge type bridge
  ip -n "$lab-switch" link set bridge up
  for i in $(seq 1 "$hosts"); do
    add_host "$i" "$i" "$rate"
    [ "$cpu" = 0 ] || limit "$i" "$cpu" $((period_ms * 1000))
  done
  add_host storage $storage "$storage_rate"
  trap - EXIT
}

# --- the end ---

labs() {  # the names of all labs of which anything is left
  { ip netns list | awk '{ print $1 }' && find $(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts) -maxdepth 1 -type d -printf '%f\n'; } |
    sed -nE "s/^($prefix-[0-9]+)-[a-z0-9]+\$/\1/p" | sort -u
}

down_one() {  # down_one LAB
  local name group deadline=$((SECONDS + 20)) pids lab=$1
  for name in $(ip netns list | awk '{ print $1 }' | grep -E "^$lab-[a-z0-9]+\$" || true); do
    pids=$(ip netns pids "$name" || true)
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
    ip netns del "$name" || true
  done
  for group in $(find $(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts) -maxdepth 1 -type d -name "$lab-*"); do
    until rmdir "$group" 2>/dev/null; do # busy until its processes are gone
      [ $SECONDS -lt $deadline ] || fail "cannot remove $group: processes $(tr '\n' ' ' <"$group/cgroup.procs")stay"
      kill -KILL $(cat "$group/cgroup.procs") 2>/dev/null || true
      sleep 0.02
    done
  done
}

down() {
  local name
  for name in $(labs); do
    if [ "${1-}" = --all ] || [ "$name" = "$lab" ] || ! kill -0 "${name#"$prefix"-}" 2>/dev/null; then
      down_one "$name"
    fi
  done
}

# --- on the hosts ---

there() {  # there HOST COMMAND...: with a name of its own, so that nothing takes two hosts for one machine
  local host=$1
  shift
  [ -e "/run/netns/$lab-$host" ] || fail "$lab has no host $host"
  exec nsenter --net="/run/netns/$lab-$host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$lab-$host" "$@"
}

join() {  # join HOST COMMAND...: within its share of a core
  local group
  group=$(cgroup_of "$1")
  shift
  [ -z "$group" ] || echo $BASHPID >"$group/cgroup.procs"
  exec "$@"
}

mpi() {  # only ranks are held to a share of a core: mpirun's daemons are not what is measured
  local n=$1 list
  shift
  list=$(seq -s, -f "$net.%.0f" 1 "$n")
  export LAB=$lab OMPI_MCA_plm_rsh_agent="$self agent" OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self \
    OMPI_MCA_btl_tcp_if_include=$net.0/24 OMPI_MCA_oob_tcp_if_include=$net.0/24
  there 1 timeout --foreground -s KILL "${LAB_TIMEOUT:-3600}" mpirun --allow-run-as-root --map-by node --bind-to none \
    -x LAB --host "$list" "$self" rank "$@" 2> >(grep -v setpgid >&2) # mpirun's word on a start that is not ssh
}

serve() {
  "$root/scripts/azurite.sh" --install
  local address=$net.$storage
  there storage node "$root/build/azurite/node_modules/azurite/dist/src/azurite.js" --silent --disableTelemetry --inMemoryPersistence \
    --blobHost $address --blobPort $blob_port --queueHost $address --queuePort $queue_port --tableHost $address --tablePort 10002
}

connection() {
  local account=devstoreaccount1
  # The account key everyone knows: it is in Azurite's documentation and opens nothing else.
  local key='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
  local at=http://$net.$storage
  echo "DefaultEndpointsProtocol=http;AccountName=$account;AccountKey=$key;BlobEndpoint=$at:$blob_port/$account;QueueEndpoint=$at:$queue_port/$account;"
}

[ "$(id -u)" = 0 ] || fail "network namespaces need root"
[[ $lab =~ ^$prefix-[0-9]+$ ]] || fail "LAB is $prefix- and the number of a process, not $lab"
[ $# -gt 0 ] || fail "see the head of this script"
what=$1
shift
case $what in
  up | down | mpi | quota | serve | connection) "$what" "$@" ;;
  on) host=$1 && shift && there "$host" "$self" join "$host" "$@" ;;
  join) join "$@" ;;
  # mpirun calls this instead of ssh, with an address, and instead of the program on a named host.
  agent) host=${1##*.} && shift && there "$host" bash -c "$*" ;;
  rank) host=$(hostname) && join "${host##*-}" "$@" ;;
  *) fail "$what is no command; see the head of this script" ;;
esac
