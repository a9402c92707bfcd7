# Sourced by .ci/run: what has to pass at each landing.
# shellcheck shell=bash

landing() {
  (($# == 0)) || fail "usage: .ci/run [full [PART…] | quick]"
  step "format" check_format
  step "expectations in loops" Tools/lint/expectations
  step "plain comments" Tools/lint/comments
  step "words of sync" Tools/lint/words
  step "layers" Tools/lint/layers
  step "build" build_check
  export DUNLIN_PROGRAMS=$PWD/.build/release
  step "tests" run_tests
  begin_lanes
  {
    aside "simulation" Tools/simulate/run
    aside "laws of merging" Tools/laws/run 0.2
    aside "comparison of queries" Tools/compare/run
  } </dev/null &
  {
    aside "HTTP API" Tools/bigpeer/check-api short
    aside "consumers" check_consumers
    aside "text is bytes" Tools/lint/text
    aside "documentation of modules" Tools/lint/documentation
  } </dev/null &
  # Real processes and disks, which wait half of the time.
  {
    aside "demo" Tools/demo
    aside "campaign" Tools/campaign/run
    if [[ $OSTYPE == linux* ]]; then
      aside "hostile peers" Tools/hostile/run short
      aside "torture" Tools/torture/run
    fi
  } </dev/null &
  join_lanes
}

check_format() {
  swift format lint --strict -r -p Package.swift Modules Tests Tools Examples Benchmarks
}

# All tests. Where few fail among so many at once, their suites run once more, alone: what passes then is a test that does not bear
# a busy machine, which is a defect of the test, and is printed as such. A run that did not come to its end has no second chance.
run_tests() {
  local words suites
  words=$(mktemp)
  if Tools/test --skip-build 2>&1 | tee "$words"; then rm "$words"; return; fi
  suites=$(failed_suites "$words")
  rm "$words"
  [[ -n $suites && $(wc -l <<<"$suites") -le 3 ]] || return
  printf '\n== once more, alone: %s\n' "${suites//$'\n'/, }"
  words=$(Tools/test --skip-build --filter "[./](${suites//$'\n'/|})/" 2>&1) || { printf '%s\n' "$words"; return 1; }
  grep -E 'Test run with [1-9][0-9]* tests?' <<<"$words" || return
  printf '== defect of a test: %s failed beside others, and passed alone\n' "${suites//$'\n'/, }"
}

# The names of the suites that failed in a whole run; none where the run broke off.
failed_suites() {  # FILE
  if grep -q '^✘ Test run with ' "$1"; then
    sed -nE 's/^✘ Suite ([A-Za-z0-9]+) failed after .*$/\1/p' "$1" | sort -u
  fi
}

# A package from outside, with a target for each product that must work alone. The types of all are checked against the modules that
# stand. SwiftPM plans all and one is built and run, with a tagged copy of what is committed, as a release is: were unsafe flags in
# its products, it could not be depended on. It is built from nothing: a checkout of the last time keeps the commit that the tag had.
check_consumers() {
  local product place=.build/consumers options kind
  mapfile -t options < <(module_options)
  for product in Tests/Consumers/Only*; do
    kind=()
    if [[ ! -e $product/main.swift ]]; then kind=(-parse-as-library); fi
    swiftc -typecheck ${kind[@]+"${kind[@]}"} -swift-version 6 -enable-upcoming-feature MemberImportVisibility -package-name consumers \
      -module-name "${product##*/}" "${options[@]}" "$product"/*.swift || return
  done
  rm -rf "$place" Tests/Consumers/Package.resolved
  git clone -q . "$place/dunlin" && git -C "$place/dunlin" tag 1.0.0 || return
  DUNLIN_RELEASE=$PWD/$place/dunlin swift run --package-path Tests/Consumers --scratch-path "$place/build" \
    --disable-index-store OnlyCRDTCore || return
  check_guarded "$place/build"
}

# What only the traits `TLS` and `Server` need is not even fetched.
check_guarded() {  # SCRATCH-PATH
  local name
  for name in swift-nio-ssl swift-crypto swift-certificates hummingbird swift-service-lifecycle swift-metrics; do
    [[ ! -e $1/checkouts/$name ]] || { echo "$name was fetched without its trait" >&2; return 1; }
  done
}
