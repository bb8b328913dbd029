#!/usr/bin/env bash
# Allreduce against tree where the wire decides: eight hosts, each a network namespace with a link of
# its own to a switch, shaped to RATE in both directions. Needs root, Linux, iproute2 and ethtool.
#
#   bench/links.sh [RATE_MBIT [VALUES [REPEATS]]]     200 Mbit/s, a model of 10 M float64, 3 times
#
# What one link carries alone is measured too, to show that it is the wire that is slow.
set -euo pipefail
cd "$(dirname "$0")/.."
rate=${1:-200} values=${2:-10000000} repeats=${3:-3}
hosts=8
net=10.213.77             # lives inside of the namespaces only
name=mw$$                 # of all that is made here
program=${EXCHANGE_BENCH:-}
if [ -z "$program" ]; then
  scripts/build.sh release exchange_bench
  program=$PWD/build/release/bench/exchange_bench
fi
[ "$(id -u)" = 0 ] || { echo "network namespaces need root" >&2 && exit 2; }

work=$(mktemp -d)
clean() {
  for i in $(seq 1 $hosts); do ip netns del "$name-$i" 2>/dev/null || true; done
  ip netns del "$name-switch" 2>/dev/null || true
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

shape() {  # shape NAMESPACE INTERFACE: packets larger than tbf's burst would be dropped, so none are
  ip netns exec "$1" ethtool -K "$2" tso off gso off gro off >/dev/null
  ip netns exec "$1" tc qdisc add dev "$2" root tbf rate "${rate}mbit" burst 128kb latency 100ms
}

ip netns add "$name-switch"
ip -n "$name-switch" link add bridge type bridge
ip -n "$name-switch" link set bridge up
list=
for i in $(seq 1 $hosts); do
  ip netns add "$name-$i"
  ip -n "$name-$i" link set lo up
  ip -n "$name-$i" link add eth0 type veth peer name "port$i" netns "$name-switch"
  ip -n "$name-$i" address add "$net.$i/24" dev eth0
  ip -n "$name-$i" link set eth0 up
  ip -n "$name-switch" link set "port$i" master bridge up
  shape "$name-$i" eth0
  shape "$name-switch" "port$i"
  list+=${list:+,}$net.$i
done

# What mpirun starts instead of ssh: the address's last number is the namespace's. Each host has a
# name of its own, so that nothing takes two of them for one machine and shares memory.
cat >"$work/agent" <<AGENT
#!/usr/bin/env bash
host=\$1
shift
exec ip netns exec "$name-\${host##*.}" unshare --uts bash -c \
  'hostname "$name-\$0"; exec bash -c "\$*"' "\${host##*.}" "\$@"
AGENT
chmod +x "$work/agent"

on_hosts() {  # on_hosts ADDRESSES COMMAND...
  "$work/agent" "$net.1" env \
    OMPI_MCA_plm_rsh_agent="$work/agent" OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_btl=tcp,self \
    OMPI_MCA_pml=ob1 OMPI_MCA_btl_tcp_if_include="$net.0/24" OMPI_MCA_oob_tcp_if_include="$net.0/24" \
    timeout -s KILL 900 mpirun --allow-run-as-root --map-by node --bind-to none --host "$@" \
    2> >(grep -v 'setpgid' >&2)  # mpirun's word on a start that is not ssh
}

echo "$hosts hosts, links of $rate Mbit/s"
# On two hosts each sends half the update and then the other half: the update's bytes through a link.
on_hosts "$net.1,$net.2" "$program" tree "$values" 1
on_hosts "$list" "$program" tree "$values" "$repeats"
