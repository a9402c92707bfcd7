# Sourced by the forms of the check: steps, lanes of steps that run side by side, and what each step took.
# shellcheck shell=bash

# A line a step: its title, seconds, and seconds of processor time of all its processes.
took=$(mktemp)

# Runs a command, and writes down what it took.
timed() {  # TITLE COMMAND…
  local title=$1 status=0 seconds TIMEFORMAT='%R %U %S'
  shift
  seconds=$(mktemp)
  { time "$@" >&3 2>&4 3>&- 4>&-; } 3>&1 4>&2 2>"$seconds" || status=$?
  awk -v title="$title" '{ printf "%s\t%.0f\t%.0f\n", title, $1, $2 + $3 }' <(tail -n 1 "$seconds") >>"$took"
  rm "$seconds"
  return "$status"
}

# Runs a step, and ends the check where it fails.
step() {  # TITLE COMMAND…
  printf '\n== %s (at %d s)\n' "$1" "$SECONDS"
  timed "$@" || fail "== failed: $1 (after $SECONDS s)"
}

# A step of a lane: what it says comes when it is over, so that it stays together.
aside() {  # TITLE COMMAND…
  local words
  printf '\n== %s (at %d s)\n' "$1" "$SECONDS"
  words=$(mktemp)
  if timed "$@" >"$words" 2>&1; then
    printf '\n== done: %s (at %d s)\n%s\n' "$1" "$SECONDS" "$(cat "$words")"
    rm "$words"
  else
    printf '%s\n== failed: %s (after %d s)\n' "$(cat "$words")" "$1" "$SECONDS" >&2
    rm "$words"
    kill -TERM $$  # ends the other lanes too
    exit 1
  fi
}

# Lanes are the background jobs of the check. Each is a process group, which ends with the others.
begin_lanes() {
  set -m
  trap 'exit 1' TERM
  trap 'end_lanes' EXIT
}

end_lanes() {
  local lane
  for lane in $(jobs -p); do kill -TERM -- "-$lane" 2>/dev/null || true; done
}

join_lanes() {
  local lane
  for lane in $(jobs -p); do wait "$lane"; done
}

# The table of what each step took, the longest first.
print_times() {
  printf '\n%-28s %8s %10s\n' step seconds processor
  sort -t $'\t' -k 2 -rn "$took" | awk -F '\t' '{ printf "%-28s %8d %10d\n", $1, $2, $3 }'
}
