#!/usr/bin/env bash
# Nodes on one machine, for nodes.py. As process 1 of a namespace of process ids, this script makes 1 or 2 of them and lives
# until its standard input ends: everything in the nodes ends with it, however it ends. It tells its own process id as it
# is outside, then one in each node as it is inside.
#   nodes.sh cluster FOLDER COUNT SHARED...   FOLDER/n0 is /tmp of the first node; SHARED lie at their places on all nodes
#   nodes.sh node NUMBER FOLDER SHARED...     one node, in namespaces of its own (network, mounts, host name, IPC)
set -euo pipefail

# The folder $1 as this node's /tmp, in which the folders $2... are seen all the same.
take_tmp() {
  local tmp=$1 shared
  shift
  for shared in "$@"; do
    [[ $shared == /tmp/* ]] || continue
    mkdir -p "$tmp/${shared#/tmp/}"
    mount --bind "$shared" "$tmp/${shared#/tmp/}"
  done
  mount --rbind "$tmp" /tmp
}

# What other tests have mounted below /tmp is copied into new namespaces, and its device would be held by them.
let_go() {
  local place
  # One whose folder its test has just removed is gone already.
  while read -r place; do umount --lazy "$place" || ! mountpoint -q "$place"; done < <(findmnt -rno TARGET | grep '^/tmp/' | tac)
}

# The network devices of this node in /sys/class/net, where UCX looks; the groups of processes stay where they are.
renew_sys() {
  mkdir "$1"
  mount --rbind /sys/fs/cgroup "$1"
  mount -t sysfs sysfs /sys
  mount --rbind "$1" /sys/fs/cgroup
  umount --lazy "$1"
  rmdir "$1"
}

case $1 in
node)
  number=$2 folder=$3
  hostname "n$number"
  mount --bind "$folder/hosts" /etc/hosts
  mount -t tmpfs -o size=512m tmpfs /dev/shm
  renew_sys "$folder/cgroup$number"
  take_tmp "$folder/n$number" "${@:4}"
  ip link set lo up
  echo $$
  exec sleep infinity >/dev/null
  ;;
cluster)
  folder=$2 count=$3 pids=()
  read -r own _ </proc/self/stat
  mount -t proc proc /proc
  let_go
  echo '127.0.0.1 localhost' >"$folder/hosts"
  for ((i = 0; i < count; i++)); do
    echo "10.77.0.$((i + 1)) n$i" >>"$folder/hosts"
    mkdir "$folder/n$i"
    chmod 1777 "$folder/n$i"
  done
  for ((i = 0; i < count; i++)); do
    exec {node}< <(exec unshare --net --mount --uts --ipc "$0" node "$i" "$folder" "${@:4}")
    read -r -u "$node" pid || exit 1
    exec {node}<&-
    pids+=("$pid")
  done
  # The ends of a wire between two namespaces: no address of it is known to anybody else.
  if ((count == 2)); then
    # Of different numbers: the kernel takes its time with a device that has the number of its peer.
    ip link add eth0 index 100 netns "${pids[0]}" type veth peer name eth0 index 101 netns "${pids[1]}"
    for ((i = 0; i < count; i++)); do
      nsenter -t "${pids[i]}" -n sh -c "ip addr add 10.77.0.$((i + 1))/24 dev eth0 && ip link set eth0 up"
    done
    for pid in "${pids[@]}"; do
      until [[ $(nsenter -t "$pid" -n ip -br link show eth0) == *" UP "* ]]; do :; done
    done
  fi
  echo "$own ${pids[*]}"
  read -r || true
  ;;
esac
