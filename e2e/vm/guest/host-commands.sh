#!/bin/bash
# Runs the commands of the host, in parallel. A line from the host: number, limit in seconds, script in base64.
# A line to the host: number, exit code, standard output and standard error in base64; first of all `ready`.
set -u
folder=/run/host-commands
mkdir -p "$folder"
until [ -c /dev/vport*p1 ]; do sleep 0.1; done
exec 3<>/dev/vport*p1
echo ready >&3

run_one() {
  local number=$1 limit=$2 out=$folder/$1.out err=$folder/$1.err code
  base64 -d <<<"$3" >"$folder/$number"
  timeout --signal=KILL "$limit" bash "$folder/$number" >"$out" 2>"$err" </dev/null 3<&-
  code=$?
  exec 9>"$folder/lock"
  flock 9
  {
    printf '%s %s ' "$number" "$code"
    base64 -w0 "$out"
    printf ' '
    base64 -w0 "$err"
    printf '\n'
  } >&3
  rm -f "$folder/$number" "$out" "$err"
}

while read -r number limit script <&3; do
  run_one "$number" "$limit" "$script" &
done
