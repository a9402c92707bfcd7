# Sourced by .ci/run: what a developer waits for.
# shellcheck shell=bash

readonly quick_seconds=240

# Builds for debugging, in a folder of its own, and tests what has changed and all that stands on it, one test target after another
# from the changed one up, until the time is over. What is changed: files that are not committed, and commits that are not upstream.
quick() {
  (($# == 0)) || fail "usage: .ci/run [full [PART…] | quick]"
  local options=(--scratch-path .build/quick --traits default,Server) target left skipped=()
  local targets=()
  step "format" check_format_of_changes
  step "expectations in loops" Tools/lint/expectations
  step "plain comments" Tools/lint/comments
  step "words of sync" Tools/lint/words
  mapfile -t targets < <(changed_files | .ci/affected)
  if ((${#targets[@]} == 0)); then echo "No test stands on what has changed."; return; fi
  echo "Tests that stand on what has changed: ${targets[*]}"
  step "build" swift build --build-tests "${options[@]}" -Xswiftc -warnings-as-errors
  for target in "${targets[@]}"; do
    left=$((quick_seconds - SECONDS))
    if ((left < 10)); then skipped+=("$target"); continue; fi
    step "$target" test_within "$left" "$target" "${options[@]}"
  done
  printf '\n== not run: %s\n' "${skipped[*]:-nothing}"
}

changed_files() {
  local base=HEAD
  if git rev-parse -q --verify '@{upstream}' >/dev/null 2>&1; then base=$(git merge-base HEAD '@{upstream}'); fi
  git diff --name-only "$base"
  git ls-files --others --exclude-standard
}

check_format_of_changes() {
  local files=()
  mapfile -t files < <(changed_files | grep '\.swift$' | while IFS= read -r file; do [[ ! -e $file ]] || echo "$file"; done)
  ((${#files[@]} == 0)) || swift format lint --strict -p "${files[@]}"
}

# Runs the tests of one target; what is cut off at the end of the time has not failed, and is printed as not run.
test_within() {  # SECONDS TARGET OPTION…
  local seconds=$1 target=$2 status=0
  shift 2
  timeout "$seconds" swift test --skip-build --enable-swift-testing --disable-xctest "$@" --filter "^$target\." || status=$?
  if ((status == 124)); then skipped+=("$target (cut off)"); return; fi
  return "$status"
}
