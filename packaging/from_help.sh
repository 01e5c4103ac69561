#!/usr/bin/env bash
# What is made of the help of the program: manual pages, and completion for bash, zsh and fish.
#   packaging/from_help.sh PROGRAM SHARE      writes SHARE/man/man1/comm-probe.1, SHARE/zsh/vendor-completions/_comm-probe, ...
set -eu
program=${1:?usage: packaging/from_help.sh PROGRAM SHARE}
share=${2:?usage: packaging/from_help.sh PROGRAM SHARE}
"$program" man --folder "$share/man/man1" >/dev/null
script() { # SHELL FILE
  mkdir -p "$share/$(dirname "$2")"
  "$program" completion "$1" --output "$share/$2"
}
script bash bash-completion/completions/comm-probe
script zsh zsh/vendor-completions/_comm-probe
script fish fish/vendor_completions.d/comm-probe.fish
