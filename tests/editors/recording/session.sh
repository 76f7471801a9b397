#!/usr/bin/env bash
# The session of the front page: a failure, its mending, the proof. Commands are typed at a person's speed; what they print is what they print. Runs in a
# folder with average.c, `proofline` on the PATH.
type_and_run() {
  local at command=$1
  printf '\033[1;32m$\033[0m '
  sleep 0.6
  for ((at = 0; at < ${#command}; at++)); do
    printf '%s' "${command:at:1}"
    sleep 0.03
  done
  sleep 0.4
  printf '\n'
  eval "$command"
  sleep "${2:-2}"
}
clear
type_and_run 'proofline check average.c' 6
clear
type_and_run "sed -i 's|(low + high) / 2|low + (high - low) / 2|' average.c" 0.5
type_and_run 'proofline check average.c' 4
type_and_run 'proofline explain average.c average' 6
