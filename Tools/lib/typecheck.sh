# Sourced by tools that look at what the compiler says of sources, without building them again: what they import is taken from the
# check's build, or from any other release build with tests that stands in its place.
# shellcheck shell=bash

readonly built=.build/release manifest=.build/release.yaml

require_check_build() {
  [[ -e $manifest && -e $built/Modules/BigPeer.swiftmodule ]] || build_check >&2
}

# Checks the types of a target as the check's build compiles it, by one compiler for all files: one for each would read all others
# again. A file of a module that the build does not know yet is an error.
typecheck() {  # TARGET COMPILER-OPTION…
  local name=$1 options unknown
  shift
  unknown=$(find "$PWD/Modules/$name" -name '*.swift' 2>/dev/null | grep -vxFf "$built/$name.build/sources" || true)
  if [[ -n $unknown ]]; then
    echo "error: the build is older than $unknown: build it again" >&2
    return 1
  fi
  mapfile -t options < <(options_of "$name")
  swiftc -typecheck -whole-module-optimization "${options[@]}" "$@"
}

# The options with which a target was compiled, one a line, without those that say what to write and how fast it shall be.
options_of() {  # TARGET
  sed -n "/^  \"C\.$1-.*-release\.module\":/,/args:/s/^ *args: \[\"\(.*\)\"\]\$/\1/p" "$manifest" | head -n 1 |
    sed 's/","/\n/g' | awk '
      NR == 1 { next }
      skipped { skipped = 0; next }
      paired { paired = 0; print; next }
      $0 == "-Xcc" || $0 == "-Xfrontend" { paired = 1; print; next }
      /^-emit-.*-path$/ || /^-(output-file-map|index-store-path|module-cache-path|num-threads)$/ { skipped = 1; next }
      /^-(emit-.*|incremental|c|j[0-9]+|enable-batch-mode|(no-)?whole-module-optimization|O|Onone)$/ { next }
      /^-(serialize-diagnostics|parseable-output|warnings-as-errors|g|gnone)$/ { next }
      { print }'
}

# The options with which the compiler finds all modules of the build, and the C modules that they import, one a line.
module_options() {
  printf '%s\n' -I "$built/Modules"
  { find Modules .build/checkouts/*/Sources -name module.modulemap; ls "$built"/*.build/module.modulemap; } |
    sed 's/^/-Xcc\n-fmodule-map-file=/'
  find .build/checkouts -type d -path '*/Sources/*/include' -not -path '*/include/*' | sed 's/^/-Xcc\n-I\n-Xcc\n/'
}
