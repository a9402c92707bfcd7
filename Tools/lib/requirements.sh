# Sourced by Tools/test, Tools/demo and .ci/run: sees to it that what the build needs is installed.
# shellcheck shell=bash

readonly swift_major=6 swift_minor=3

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# Where the first argument after the script's path asks for help, prints what the script says at its beginning.
offer_help() {  # SCRIPT ARGUMENTS…
  case ${2-} in
    -h | --help | help)
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$1"
      exit 0
      ;;
  esac
}

# Whether pkg-config knows $1, or else whether the header $2 stands in a usual place.
has_library() {
  if command -v pkg-config >/dev/null && pkg-config --exists "$1"; then return 0; fi
  local prefix
  for prefix in /usr /usr/local /opt/homebrew; do
    [[ -e $prefix/include/$2 ]] && return 0
  done
  return 1
}

require_swift() {
  command -v swift >/dev/null ||
    fail "Dunlin needs Swift $swift_major.$swift_minor or newer: see https://www.swift.org/install"
  local version
  version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
  [[ $version =~ ^([0-9]+)\.([0-9]+)$ ]] || fail "cannot read the version of $(command -v swift)"
  local major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]}
  ((major > swift_major || (major == swift_major && minor >= swift_minor))) ||
    fail "Dunlin needs Swift $swift_major.$swift_minor or newer; $(command -v swift) is $version"
}

# Installs packages with apt, as root or with a sudo that asks for no password; returns 1 where neither is there.
install_packages() {
  command -v apt-get >/dev/null || return 1
  local as_root=env
  if ((EUID != 0)); then
    sudo -n true 2>/dev/null || return 1
    as_root="sudo -n"
  fi
  echo "Installing $*"
  # shellcheck disable=SC2086  # `sudo -n` is two words
  $as_root apt-get update -q &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

# Checks for the compiler and the libraries, installs what is missing, and stops with a clear message if it cannot.
require_all() {
  require_swift
  # Words in strings, because the bash of macOS takes an empty array for an unset one.
  local libraries="" tools=""
  has_library lmdb lmdb.h || libraries+=" liblmdb-dev"
  has_library zlib zlib.h || libraries+=" zlib1g-dev"
  command -v pkg-config >/dev/null || tools+=" pkg-config"
  command -v git >/dev/null || tools+=" git"
  if [[ $OSTYPE == linux-gnu && ! -d /etc/ssl/certs ]]; then tools+=" ca-certificates"; fi
  local missing="$libraries$tools"
  [[ -n $missing ]] || return 0
  # shellcheck disable=SC2086  # one argument a word
  if install_packages $missing; then return 0; fi

  local message="These packages are missing and could not be installed from here:$missing
  Debian, Ubuntu:  sudo apt-get install$missing
  Fedora:          sudo dnf install lmdb-devel zlib-devel pkgconf git
  macOS:           brew install lmdb pkgconf"
  # Without its tools the build may still work: SwiftPM finds headers in the usual places by itself.
  if [[ -n $libraries ]]; then fail "$message"; fi
  printf '%s\n' "$message" "Going on without." >&2
}

# Sees to a library that only some tool needs: pkg-config's name, a header, the package of Debian and Ubuntu.
require_library() {
  has_library "$1" "$2" || install_packages "$3" ||
    fail "The library $1 is missing and could not be installed from here; on Debian and Ubuntu: apt-get install $3"
}
