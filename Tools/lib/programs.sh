# Sourced by tools that run a program of the package: builds it as it is measured and checked.
# shellcheck shell=bash

# Builds programs in the release form, all in one place, and prints the folder that they are in. They are linked as a whole on
# Linux, so that a process starts in a millisecond, and built without TLS, which takes minutes and which nothing here needs.
release_programs() {  # PRODUCT…
  build_programs "$(release_traits)" .build/tools "$@"
}

# The same for the simulator, which plants defects: with the trait for that, in a place of its own.
simulation_programs() {  # PRODUCT…
  local place=.build/simulation
  if [[ $(release_traits) == Simulation ]]; then place=.build/tools; fi
  build_programs Simulation "$place" "$@"
}

# The traits of programs: none. Where DUNLIN_ONE_BUILD is set, as in CI, that of the simulator, so that all are built once; defects
# are in them then, switched off, which costs some speed.
release_traits() {
  if [[ -n ${DUNLIN_ONE_BUILD:-} ]]; then echo Simulation; fi
}

build_programs() {  # TRAITS PLACE PRODUCT…
  local root traits=$1 place=$2 options product
  shift 2
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  options=(-c release --package-path "$root" --scratch-path "$root/$place")
  if [[ -n $traits ]]; then options+=(--traits "$traits"); else options+=(--disable-default-traits); fi
  # Apple systems have no library to link statically.
  if [[ $OSTYPE == linux* ]]; then options+=(--static-swift-stdlib); fi
  # Nobody debugs what CI has built, and without lines it is built and linked a tenth sooner.
  if [[ -n ${DUNLIN_ONE_BUILD:-} ]]; then options+=(-debug-info-format none); fi
  mkdir -p "$root/$place"
  for product in "$@"; do
    swift build "${options[@]}" --product "$product" 2>&1 | sed '/mktemp/d' >&2
    [[ ${PIPESTATUS[0]} == 0 ]] || return 1
  done
  swift build "${options[@]}" --show-bin-path
}

# The options of `swift build` and `swift test` for all tests; an array, so that both build the same.
test_options=(--traits default,Server --explicit-target-dependency-import-check error -Xswiftc -warnings-as-errors)
