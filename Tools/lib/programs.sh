# Sourced by tools that run a program of the package: builds it as it is shipped and measured, or as the check has built it.
# shellcheck shell=bash

# The check's build: everything at once, optimised, with planted defects, living checks and modules that tests see into.
check_options=(-c release --traits default,Server,Simulation --explicit-target-dependency-import-check error
  -Xswiftc -warnings-as-errors -debug-info-format none --disable-index-store)

# Builds all tests, and the programs with them, for the check. SwiftPM gives traits to the compiler in the order of a set: in another
# order than the last time everything would be built again.
#
# SwiftPM takes an entry point of the tests by its name, and would have it in every other build too, where it runs nothing of Swift
# Testing unless it is told to: so the name is there during this build alone.
build_check() (
  trap 'rm -f Tests/XCTMain.swift' EXIT
  ln -sf TestRun.swift Tests/XCTMain.swift
  DUNLIN_TESTABLE=yes SWIFT_DETERMINISTIC_HASHING=1 swift build --build-tests "${check_options[@]}"
)

# Runs the tests that `build_check` has built. On Linux they are a program, and SwiftPM, which would plan a build, is not needed.
run_built_tests() {  # OPTION…
  if [[ $OSTYPE == linux* ]]; then
    NO_COLOR=1 .build/release/dunlinPackageTests.xctest --testing-library swift-testing "$@"
  else
    DUNLIN_TESTABLE=yes SWIFT_DETERMINISTIC_HASHING=1 swift test --skip-build --enable-swift-testing --disable-xctest "${check_options[@]}" "$@"
  fi
}

# Prints the folder of programs in the release form, and builds them there. Where DUNLIN_PROGRAMS names a folder, as in the check,
# they are there. On Linux they are linked as a whole, so that a process starts in a millisecond, and built without TLS, which
# takes minutes and which nothing here needs.
release_programs() {  # PRODUCT…
  built_programs "$@" || build_programs "" .build/tools "$@"
}

# The same for the simulator, which plants defects: with the trait for that, in a place of its own.
simulation_programs() {  # PRODUCT…
  built_programs "$@" || build_programs Simulation .build/simulation "$@"
}

# The same for the big peer, with what it needs of traits.
server_programs() {  # PRODUCT…
  built_programs "$@" || build_programs default,Server .build/server "$@"
}

built_programs() {  # PRODUCT…
  local product
  [[ -n ${DUNLIN_PROGRAMS:-} ]] || return 1
  for product in "$@"; do
    [[ -x $DUNLIN_PROGRAMS/$product ]] || fail "There is no $product in $DUNLIN_PROGRAMS, which DUNLIN_PROGRAMS names"
  done
  echo "$DUNLIN_PROGRAMS"
}

build_programs() {  # TRAITS PLACE PRODUCT…
  local root traits=$1 place=$2 options product
  shift 2
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  options=(-c release --package-path "$root" --scratch-path "$root/$place")
  if [[ -n $traits ]]; then options+=(--traits "$traits"); else options+=(--disable-default-traits); fi
  # Apple systems have no library to link statically.
  if [[ $OSTYPE == linux* ]]; then options+=(--static-swift-stdlib); fi
  mkdir -p "$root/$place"
  for product in "$@"; do
    swift build "${options[@]}" --product "$product" 2>&1 | sed '/mktemp/d' >&2
    [[ ${PIPESTATUS[0]} == 0 ]] || return 1
  done
  swift build "${options[@]}" --show-bin-path
}
