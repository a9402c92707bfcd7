# Sourced by tools that have the compiler of this system check sources as for macOS: what both of them need to know of the
# toolchain, the interface files that they derive from those of its standard library, and how they call the compiler.
# shellcheck shell=bash

# The releases of one autumn: what one of them has, the other has.
readonly macos=15 ios=18
# The modules that are checked as for macOS, the lowest first: they import neither Foundation nor other packages.
readonly core=(Platform Failpoints CRDTCore DocStore QueryLanguage QueryEngine SyncProtocol ScopePolicy)
readonly triple=$(uname -m)-unknown-linux-gnu
# The processor of the Mac is that of this system: the standard library's interface files are for no other.
readonly processor=$(uname -m | sed s/aarch64/arm64/)
readonly target=$processor-apple-macosx$macos.0

# Ends the tool where the package or the toolchain is not as it is described here.
require_apple() {  # TOOL
  tool=$1
  grep -q "platforms: \[\.macOS(\.v$macos), \.iOS(\.v$ios)\]" Package.swift ||
    fail "Package.swift has another minimum than macOS $macos and iOS $ios, which $tool checks for"
  resources=$(swiftc -print-target-info | sed -nE 's/.*"runtimeResourcePath": "(.*)".*/\1/p')
  [[ -e $resources/linux/Swift.swiftmodule/$triple.swiftinterface ]] ||
    fail "The toolchain has no interface file of the standard library: $resources/linux/Swift.swiftmodule/$triple.swiftinterface"
}

# Derives one interface file, unless it is newer than the toolchain's, this file and the tool.
derive() {  # MODULE FOLDER NAME COMMAND…
  local source=$resources/linux/$1.swiftmodule/$triple.swiftinterface place=$2/$1.swiftmodule name=$3
  shift 3
  [[ -e $source ]] || return 0
  [[ $place/$name -nt $source && $place/$name -nt $tool && $place/$name -nt Tools/lib/apple.sh ]] && return 0
  mkdir -p "$place"
  "$@" <"$source" >"$place/$name"
}

# Writes the interface of a module for macOS; what the standard library itself uses is not checked.
for_macos() {  # FLAGS
  sed -e "/^\/\/ swift-module-flags:/{s/-target $triple/-target $target/;s/-target-min-inlining-version min//
    s|\$| -disable-availability-checking $1|;}" -e 's/@backDeployed(before: [^)]*)//'
}

# Where those are that were derived for macOS: the standard library and what belongs to it.
derive_for_macos() {  # FOLDER COMMAND…
  local module folder=$1
  shift
  for module in Swift _Concurrency _StringProcessing _RegexParser Synchronization SwiftOnoneSupport _Builtin_float Observation; do
    derive $module "$folder" "$processor-apple-macos.swiftinterface" "$@"
  done
}

# The compiler as for macOS, with the settings of the package. The tool says in `macos_options` where modules are, and how C is read.
frontend_for_macos() {  # ARGUMENTS…
  # shellcheck disable=SC2046  # words
  swiftc -frontend -target "$target" -disable-objc-interop -swift-version 6 -package-name dunlin \
    $(sed -nE 's/^ *\.(enable[A-Za-z]*Feature)\("([A-Za-z]+)"\).*/\1 \2/p' Package.swift |
      sed -e 's/^enableUpcomingFeature/-enable-upcoming-feature/' -e 's/^enableExperimentalFeature/-enable-experimental-feature/') \
    -plugin-path "$resources/host/plugins" -resource-dir "$resources" "${macos_options[@]}" "$@"
}

# The files of a module, one a line.
files_of() {  # MODULE
  find "Modules/$1" -name '*.swift' | sort
}

# Writes a module of which those above it only need to know what it declares.
declare_for_macos() {  # OUTPUT MODULE FILE…
  local output=$1 module=$2
  shift 2
  frontend_for_macos -emit-module -disable-availability-checking \
    -experimental-skip-non-inlinable-function-bodies-without-types -module-name "$module" -o "$output" "$@"
}
