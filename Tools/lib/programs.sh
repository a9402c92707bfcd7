# Sourced by tools that run a program of the package: builds it as it is measured and checked.
# shellcheck shell=bash

# Builds programs in the release form, all in one place, and prints the folder that they are in. They are built without TLS,
# which takes minutes and which nothing needs that is looked at here.
release_programs() {  # PRODUCT…
  build_programs tools "$@"
}

# The same, linked as a whole, so that a process starts in a millisecond; in a place of its own, since everything is compiled
# anew where that changes.
static_programs() {  # PRODUCT…
  build_programs static --static-swift-stdlib "$@"
}

build_programs() {  # PLACE [OPTION] PRODUCT…
  local root options product
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  options=(-c release --disable-default-traits --package-path "$root" --scratch-path "$root/.build/$1")
  mkdir -p "$root/.build/$1"
  shift
  while [[ $1 == --* ]]; do
    options+=("$1")
    shift
  done
  for product in "$@"; do
    swift build "${options[@]}" --product "$product" 2>&1 | sed '/mktemp/d' >&2
    [[ ${PIPESTATUS[0]} == 0 ]] || return 1
  done
  swift build "${options[@]}" --show-bin-path
}
