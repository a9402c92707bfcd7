# Sourced by tools that run a program of the package: builds it as it is measured and checked.
# shellcheck shell=bash

# Builds programs in the release form, all in one place, and prints the folder that they are in. They are linked as a whole on
# Linux, so that a process starts in a millisecond, and built without TLS, which takes minutes and which nothing here needs.
release_programs() {  # PRODUCT…
  local root options product
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  options=(-c release --disable-default-traits --package-path "$root" --scratch-path "$root/.build/tools")
  # Apple systems have no library to link statically.
  if [[ $OSTYPE == linux* ]]; then options+=(--static-swift-stdlib); fi
  mkdir -p "$root/.build/tools"
  for product in "$@"; do
    swift build "${options[@]}" --product "$product" 2>&1 | sed '/mktemp/d' >&2
    [[ ${PIPESTATUS[0]} == 0 ]] || return 1
  done
  swift build "${options[@]}" --show-bin-path
}
