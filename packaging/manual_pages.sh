#!/usr/bin/env bash
# Manual pages out of what the program says of itself: comm-probe(1) and one page per subcommand.
#   packaging/manual_pages.sh PROGRAM FOLDER      writes FOLDER/comm-probe.1, FOLDER/comm-probe-calc.1, ...
set -eu
program=${1:?usage: packaging/manual_pages.sh PROGRAM FOLDER}
folder=${2:?usage: packaging/manual_pages.sh PROGRAM FOLDER}
version=$("$program" --version | cut -d' ' -f2)
mkdir -p "$folder"

# Help as it stands: nothing in it is a request or an escape of troff.
escaped() { sed -e 's/\\/\\e/g' -e "s/^\([.']\)/\\\\\&\1/" -e 's/-/\\-/g'; }

# page NAME WORDS...: from the help of `comm-probe WORDS`
page() {
  local name=$1 text summary
  shift
  text=$("$program" "$@" --help)
  summary=$(printf '%s\n' "$text" | head -1 | sed 's/\.$//')
  {
    printf '.TH %s 1 "" "comm-probe %s" "comm-probe"\n' "$(printf '%s' "$name" | tr a-z A-Z)" "$version"
    printf '.SH NAME\n%s \\- %s\n' "$(printf '%s' "$name" | escaped)" "$(printf '%s' "$summary" | escaped)"
    printf '.SH SYNOPSIS\n.nf\n%s\n.fi\n' "$(printf '%s\n' "$text" | sed -n 's/^Usage: //p' | escaped)"
    printf '.SH DESCRIPTION\n.nf\n%s\n.fi\n' "$(printf '%s\n' "$text" | sed -e '1,/^Usage: /d' | sed '/./,$!d' | escaped)"
    printf '.SH SEE ALSO\n%s\n' "$see"
  } >"$folder/$name.1"
}

subcommands=$("$program" --help | sed -n '/^Calculate:/,$s/^  \([a-z]*\) .*/\1/p')
see=$(printf '%s\n' $subcommands | sed 's/.*/.BR comm\\-probe\\-& (1),/' | sed '$s/,$//')
page comm-probe
see='.BR comm\-probe (1)'
for subcommand in $subcommands; do page "comm-probe-$subcommand" "$subcommand"; done
