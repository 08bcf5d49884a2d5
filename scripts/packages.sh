#!/bin/sh
# Installs the Debian packages that are missing, and says which and why. Run as root:
#   sh scripts/packages.sh base      what the pinned Node needs
#   sh scripts/packages.sh start     what running pods needs as well
#   sh scripts/packages.sh test      what the tests need as well
# The machine's own containerd and etcd are neither started nor enabled by it.
set -eu

say() { printf 'nodeagent setup: %s\n' "$*"; }
has() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; }
library() { find /lib /usr/lib /lib64 /usr/lib64 -maxdepth 2 -name "$1" 2>/dev/null | grep -q .; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=
# need PACKAGE 'what for' COMMAND...: notes the package unless the command succeeds
need() {
  package=$1 reason=$2
  shift 2
  if "$@"; then return; fi
  missing="$missing $package"
  say "missing: $package ($reason)"
}

cni_plugins() { [ -x /usr/lib/cni/bridge ] || [ -x /opt/cni/bin/bridge ]; }
certificates() { [ -s /etc/ssl/certs/ca-certificates.crt ] || [ -s /etc/pki/tls/certs/ca-bundle.crt ]; }
# The plain busybox package has the same program, but linked to libraries that an image would lack.
static_busybox() { has busybox && { ! has dpkg-query || installed busybox-static; }; }

need_base() {
  need libatomic1 'a library of the pinned Node' library libatomic.so.1
  need libstdc++6 'a library of the pinned Node' library libstdc++.so.6
  need ca-certificates 'pulling images from registries' certificates
}
need_start() {
  need_base
  need containerd 'the container runtime; a private instance of it is used' has containerd
  need runc 'starts the containers' has runc
  need containernetworking-plugins 'pod networks' cni_plugins
  need iproute2 'pod networks' has ip
  need iptables 'host ports and the way out of pod networks' has iptables
  need mount 'removing what a stopped demo leaves mounted' has umount
  need busybox-static 'content of the demo image' static_busybox
  need catatonit 'content of the pod sandbox image' has catatonit
}
need_test() {
  need_start
  need systemd-container 'boots a system with systemd for the end-to-end test' has systemd-nspawn
  need debootstrap 'makes that system' has debootstrap
  need util-linux 'enters that system' has nsenter
  need qemu-system-x86 'runs a machine with a kernel of its own' has qemu-system-x86_64
  need qemu-utils 'makes disks for that machine' has qemu-img
  need e2fsprogs 'makes file systems' has mkfs.ext4
  need etcd-server 'one of the stores of control-plane-lite' has etcd
  need kubernetes-client 'the stock client that control-plane-lite has to please' has kubectl
  need openssl 'makes the certificates of its test' has openssl
  need git 'clones what volumes of source gitRepo hold' has git
  need glusterfs-server 'the server that volumes of source glusterfs are tested with' has glusterd
  need glusterfs-client 'the client of that server' has mount.glusterfs
  need e2fsprogs 'file systems of volumes' has mkfs.ext4
  need xfsprogs 'file systems of volumes' has mkfs.xfs
  need btrfs-progs 'file systems of volumes' has mkfs.btrfs
  need fdisk 'partitions of volumes' has sfdisk
}

case ${1:-} in
  base) need_base ;;
  start) need_start ;;
  test) need_test ;;
  *)
    echo "usage: sh scripts/packages.sh base|start|test" >&2
    exit 2
    ;;
esac
[ -n "$missing" ] || exit 0

if ! has apt-get; then
  say "there is no apt-get here: install what is listed above with this system's package manager, then try again" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  say "installing packages needs root" >&2
  exit 1
fi

# Debian starts a service when its package is installed; this file says no for the time of the installation.
policy=/usr/sbin/policy-rc.d
guard=
remove_guard() { [ -z "$guard" ] || rm -f "$guard"; }
trap remove_guard EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [ ! -e "$policy" ]; then
  guard=$policy
  printf '#!/bin/sh\n# Of the nodeagent setup: no service starts while it installs packages.\nexit 101\n' >"$policy"
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
had_etcd=$(installed etcd-server && echo yes || echo no)
quietly apt-get -o DPkg::Lock::Timeout=120 update
# shellcheck disable=SC2086 # one word per package
quietly apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends $missing
rm -f "$log"

# Installing the package also enables the service for the next boot. It was not there before, so it stays off.
if [ "$had_containerd" = no ] && installed containerd && has systemctl; then
  systemctl disable containerd.service >/dev/null 2>&1 || true
  say "the machine's own containerd service stays off (to use it: systemctl enable --now containerd)"
fi
if [ "$had_etcd" = no ] && installed etcd-server && has systemctl; then
  systemctl disable etcd.service >/dev/null 2>&1 || true
  say "the machine's own etcd service stays off (the tests start servers of their own)"
fi
say "installed:$missing"
