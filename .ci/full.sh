# Sourced by .ci/run: what takes longer than a landing can wait for, in parts that can run alone.
# shellcheck shell=bash

readonly all_parts=(products benchmarks fuzzing server systems threads)

full() {  # PART…
  local part
  (($# > 0)) || set -- "${all_parts[@]}"
  for part in "$@"; do
    [[ " ${all_parts[*]} " == *" $part "* ]] || fail "There is no part $part; the parts are: ${all_parts[*]}"
  done
  for part in "$@"; do
    printf '\n==== %s (at %d s)\n' "$part" "$SECONDS"
    "part_$part"
  done
}

# How packages outside the library's own are built: both in one place, so that the library is built once for both. The cached build
# manifest in that place would be the other package's, whose programs alone would be built.
outside=(--disable-index-store --disable-build-manifest-caching --scratch-path .build/outside)

# Programs as they are shipped: without checks, testability and planted defects.
part_products() {
  step "demo" Tools/demo
  step "no check is in a product" check_absence
  step "consumers" run_consumers
}

# What a living check would print is not in a program that is shipped.
check_absence() {
  local bin
  bin=$(release_programs dunlin) || return
  grep -q 'syncing' "$bin/dunlin" || { echo "The text of $bin/dunlin cannot be read" >&2; return 1; }
  ! grep -q 'A check fired' "$bin/dunlin" || { echo "There are living checks in $bin/dunlin" >&2; return 1; }
}

# Each product that must work alone, built and run.
run_consumers() {
  local build=(--package-path Tests/Consumers "${outside[@]}") bin product
  swift build "${build[@]}" || return
  bin=$(swift build "${build[@]}" --show-bin-path) || return
  for product in Tests/Consumers/Only*; do "$bin/${product##*/}" || return; done
  check_guarded .build/outside
}

# The short form of each benchmark runs and comes to its end; what it measures is for those who read it.
part_benchmarks() {
  step "build of benchmarks" build_benchmarks
  local bin
  bin=$(swift build --package-path Benchmarks "${outside[@]}" --show-bin-path)
  step "benchmark of the store" "$bin/store" --short
  step "benchmark of layers" "$bin/layers" --short
  step "benchmark of replication" "$bin/replication" --short --case orders --case meeting --case merge --case crowd \
    --case narrow --case latency --case thresholds
  step "instructions of hot paths" Tools/instructions --tolerance 3
}

build_benchmarks() {
  require_library sqlite3 sqlite3.h libsqlite3-dev
  swift build --package-path Benchmarks "${outside[@]}"
}

part_fuzzing() {
  only_linux || return 0
  step "fuzzing" Tools/fuzz/run 60
}

part_server() {
  step "HTTP API, long" Tools/bigpeer/check-api
}

part_systems() {
  only_linux || return 0
  step "build" build_check
  step "minimum systems" Tools/lint/availability
  step "branches for Apple systems" Tools/lint/apple
}

# A debug build, so that what hangs on `DEBUG` and on `assert` is tested here.
part_threads() {
  step "thread sanitizer" Tools/sanitize thread
}

only_linux() {
  [[ $OSTYPE == linux* ]] || { echo "skipped: it needs Linux"; return 1; }
}
