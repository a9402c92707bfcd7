# Sourced by tools that look at what the compiler says of a target, without building it again: what is below it is taken from the
# debug build.
# shellcheck shell=bash

require_debug_build() {
  [[ -e .build/debug.yaml ]] || fail "Build first what is checked: swift build --build-tests"
}

# Checks the types of a target as the debug build compiles it, by one compiler for all files: one for each would read all others
# again. A file of a module that the debug build does not know yet is an error.
typecheck() {  # TARGET COMPILER-OPTION…
  local name=$1 options unknown
  shift
  unknown=$(find "$PWD/Modules/$name" -name '*.swift' 2>/dev/null | grep -vxFf ".build/debug/$name.build/sources" || true)
  if [[ -n $unknown ]]; then
    echo "error: the debug build is older than $unknown: build it again" >&2
    return 1
  fi
  mapfile -t options < <(options_of "$name")
  swiftc -typecheck -whole-module-optimization "${options[@]}" "$@"
}

# The options with which a target was compiled, one a line, without those that say what to write.
options_of() {  # TARGET
  sed -n "/^  \"C\.$1-.*-debug\.module\":/,/args:/s/^ *args: \[\"\(.*\)\"\]\$/\1/p" .build/debug.yaml | head -n 1 |
    sed 's/","/\n/g' | awk '
      NR == 1 { next }
      skipped { skipped = 0; next }
      paired { paired = 0; print; next }
      $0 == "-Xcc" || $0 == "-Xfrontend" { paired = 1; print; next }
      /^-emit-.*-path$/ || /^-(output-file-map|index-store-path|module-cache-path)$/ { skipped = 1; next }
      /^-(emit-.*|incremental|c|j[0-9]+|enable-batch-mode|serialize-diagnostics|parseable-output|warnings-as-errors|g)$/ { next }
      { print }'
}
