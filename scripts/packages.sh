#!/bin/sh
# Installs missing Debian packages, and prints their names and purposes. Run as root:
#   sh scripts/packages.sh base      packages for the pinned Node
#   sh scripts/packages.sh start     also packages for running pods
#   sh scripts/packages.sh test      also packages for the tests
# Neither starts nor enables the machine's own containerd, docker and etcd.
set -eu

say() { printf 'nodeagent setup: %s\n' "$*"; }
has() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; }
library() { find /lib /usr/lib /lib64 /usr/lib64 -maxdepth 2 -name "$1" 2>/dev/null | grep -q .; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=
# need PACKAGE PURPOSE COMMAND...: marks the package as missing unless the command succeeds
need() {
  package=$1 reason=$2
  shift 2
  if "$@"; then return; fi
  missing="$missing $package"
  say "missing: $package ($reason)"
}

cni_plugins() { [ -x /usr/lib/cni/bridge ] || [ -x /opt/cni/bin/bridge ]; }
certificates() { [ -s /etc/ssl/certs/ca-certificates.crt ] || [ -s /etc/pki/tls/certs/ca-bundle.crt ]; }
# The plain busybox package has the same program, but dynamically linked, which does not work in an image.
static_busybox() { has busybox && { ! has dpkg-query || installed busybox-static; }; }

need_base() {
  need libatomic1 'a library of the pinned Node' library libatomic.so.1
  need libstdc++6 'a library of the pinned Node' library libstdc++.so.6
  need ca-certificates 'pulling images from registries' certificates
}
need_start() {
  need_base
  need containerd 'the container runtime, used as a private instance' has containerd
  need runc 'starts the containers' has runc
  need containernetworking-plugins 'pod networks' cni_plugins
  need iproute2 'pod networks' has ip
  need iptables 'host ports and outgoing connections of pods' has iptables
  need mount 'unmounting after a stopped demo' has umount
  need busybox-static 'content of the demo image' static_busybox
  need catatonit 'content of the pod sandbox image' has catatonit
}
need_test() {
  need_start
  need systemd-container 'boots a system with systemd for the end-to-end test' has systemd-nspawn
  need debootstrap 'creates that system' has debootstrap
  need docker.io 'another container runtime, used as private instances' has dockerd
  need util-linux 'enters that system' has nsenter
  need qemu-system-x86 'runs virtual machines' has qemu-system-x86_64
  need qemu-utils 'creates disks for virtual machines' has qemu-img
  need e2fsprogs 'creates file systems' has mkfs.ext4
  need etcd-server 'a store of control-plane-lite' has etcd
  need kubernetes-client 'upstream client for the tests of control-plane-lite' has kubectl
  need openssl 'creates certificates for that test' has openssl
  need git 'clones repositories for gitRepo volumes' has git
  need glusterfs-server 'server for tests of glusterfs volumes' has glusterd
  need glusterfs-client 'the client of that server' has mount.glusterfs
  need e2fsprogs 'file systems of volumes' has mkfs.ext4
  need xfsprogs 'file systems of volumes' has mkfs.xfs
  need btrfs-progs 'file systems of volumes' has mkfs.btrfs
  need fdisk 'partitions of volumes' has sfdisk
  need zsh 'completes the commands of nodeagent' has zsh
  need fish 'completes the commands of nodeagent' has fish
  need prometheus 'evaluates the dashboards and alerts of examples/monitoring' has prometheus
}

usage='usage: sh scripts/packages.sh base|start|test'
case ${1:-} in
  base) need_base ;;
  start) need_start ;;
  test) need_test ;;
  --help | -h)
    echo "$usage"
    exit 0
    ;;
  *)
    echo "packages.sh: ${1:-}: unknown command; $usage" >&2
    exit 2
    ;;
esac
[ -n "$missing" ] || exit 0

if ! has apt-get; then
  say "apt-get not found: install the packages listed above with this system's package manager, then try again" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  say "installing packages needs root" >&2
  exit 1
fi

# Debian starts a service when its package is installed; this file prevents that during the installation.
policy=/usr/sbin/policy-rc.d
guard=
remove_guard() { [ -z "$guard" ] || rm -f "$guard"; }
trap remove_guard EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [ ! -e "$policy" ]; then
  guard=$policy
  printf '#!/bin/sh\n# Created by the nodeagent setup: prevents services from starting during the installation.\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

say "installing with apt-get:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
quietly() {
  if "$@" >"$log" 2>&1 </dev/null; then return; fi
  tail -n 20 "$log" >&2
  rm -f "$log"
  say "failed: $*" >&2
  exit 1
}
had_containerd=$(installed containerd && echo yes || echo no)
had_docker=$(installed docker.io && echo yes || echo no)
had_etcd=$(installed etcd-server && echo yes || echo no)
quietly apt-get -o DPkg::Lock::Timeout=120 update
# shellcheck disable=SC2086 # one word per package
quietly apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends $missing
rm -f "$log"

# Installing the package also enables the service for the next boot. A newly installed service stays disabled.
if [ "$had_containerd" = no ] && installed containerd && has systemctl; then
  systemctl disable containerd.service >/dev/null 2>&1 || true
  say "the machine's own containerd service stays off (to use it: systemctl enable --now containerd)"
fi
if [ "$had_docker" = no ] && installed docker.io && has systemctl; then
  systemctl disable docker.service docker.socket >/dev/null 2>&1 || true
  say "the machine's own docker service stays off (the tests start their own daemons)"
fi
if [ "$had_etcd" = no ] && installed etcd-server && has systemctl; then
  systemctl disable etcd.service >/dev/null 2>&1 || true
  say "the machine's own etcd service stays off (the tests start their own servers)"
fi
say "installed:$missing"
