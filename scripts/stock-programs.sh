#!/bin/sh
# Builds upstream's programs once from Debian's source package, and prints their directory.
# Building takes 15 to 30 minutes, as root because packages may be missing.
#   sh scripts/stock-programs.sh
# Progress goes to standard error; the directory is the only line on standard output.
set -eu

say() { printf 'stock programs: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

case ${1:-} in
  '') ;;
  --help | -h)
    echo 'usage: sh scripts/stock-programs.sh'
    exit 0
    ;;
  *)
    say "$1: unexpected argument; usage: sh scripts/stock-programs.sh"
    exit 2
    ;;
esac

folder=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/nodeagent/stock
programs='kubelet kube-apiserver kube-controller-manager kube-scheduler kube-proxy'
complete() {
  for program in $programs; do [ -x "$folder/$program" ] || return 1; done
}
if complete; then
  printf '%s\n' "$folder"
  exit 0
fi

has apt-get || fail "apt-get not found: put $programs of one release into $folder"
mkdir -p "$folder"
# Concurrent runs must not build the same.
has flock || fail 'missing: flock'
exec 9>"$folder/lock"
flock 9
if complete; then
  printf '%s\n' "$folder"
  exit 0
fi

missing=
need() { has "$2" || missing="$missing $1"; }
# The Go library reflect2, in the release that supports the map layout of Go 1.18 and later.
reflect2=/usr/share/gocode/src/github.com/modern-go/reflect2
[ -d "$reflect2" ] || missing="$missing golang-github-modern-go-reflect2-dev"
need golang-go go
need rsync rsync
need make make
need gcc gcc
if [ -n "$missing" ]; then
  [ "$(id -u)" -eq 0 ] || fail "missing:$missing (installing packages needs root)"
  say "installing with apt-get:$missing"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=120 update >&2
  # shellcheck disable=SC2086 # one word per package
  apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends $missing >&2 </dev/null
fi

work=$folder/build
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/home"
remove_work() { rm -rf "$work"; }
trap remove_work EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The machine's own mirror, as the origin of a package of the same source; its source index is read into a private
# directory. apt-get verifies the index's signature, and downloads against the index.
find_mirror() {
  mirror=$(apt-get download --print-uris kubernetes-client 2>/dev/null | sed -n "s|^'\(.*\)/pool/main/.*|\1|p")
  [ -n "$mirror" ]
}
find_mirror || { apt-get -o DPkg::Lock::Timeout=120 update >&2 && find_mirror; } ||
  fail 'package kubernetes-client not found: Debian 12 is required'
# shellcheck source=/dev/null # of the machine
codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
case $mirror in *-security) suite=$codename-security ;; *) suite=$codename ;; esac
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] && signed="[signed-by=$keyring] " || signed=
printf 'deb-src %s%s %s main\n' "$signed" "$mirror" "$suite" >"$work/sources.list"
sources() {
  apt-get -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=root \
    -o Dir::State::lists="$work/lists" -o Dir::Cache::archives="$work/archives" -o Dir::Cache::pkgcache= \
    -o Dir::Cache::srcpkgcache= "$@" >&2
}
say "fetching the sources from $mirror"
sources update
(cd "$work" && sources source --download-only --only-source kubernetes)

# Upstream's own archive without Debian's few patches, to test what upstream released.
mkdir "$work/tree"
tar -xzf "$work"/kubernetes_*.orig.tar.gz -C "$work/tree" --strip-components=1
# The sources bundle a reflect2 that is older than Go 1.18. An API server built with it panics as soon as it encodes an
# object with labels as JSON, so Debian's package of the same library replaces it.
bundled=$work/tree/vendor/github.com/modern-go/reflect2
[ -d "$bundled" ] || fail "the sources do not contain ${bundled#"$work/tree/"}"
find "$bundled" -name '*.go' -delete
find "$bundled" -name '*.s' -delete
cp "$reflect2"/*.go "$reflect2"/*.s "$bundled/"
# Debian's 1.20.5+really1.20.2 is upstream's v1.20.2.
version=v$(cd "$work" && printf '%s\n' kubernetes_*.orig.tar.gz | sed 's/^kubernetes_//; s/\.orig\..*//; s/^.*really//')
say "building $programs of $version; this takes a while"
targets=
for program in $programs; do targets="$targets cmd/$program"; done
# Neither uses nor changes the machine's own Go settings, and yields to other work.
(
  cd "$work/tree"
  env -u GOROOT HOME="$work/home" GOPATH="$work/tree/.go" GOFLAGS= GO111MODULE=off CGO_ENABLED=0 \
    KUBE_GIT_VERSION="$version" KUBE_GIT_COMMIT=unknown KUBE_GIT_TREE_STATE=archive \
    nice -n 19 make WHAT="${targets# }" >&2
)
for program in $programs; do
  mv "$work/tree/_output/bin/$program" "$folder/$program.new"
  mv "$folder/$program.new" "$folder/$program"
done
say "built: $folder"
printf '%s\n' "$folder"
