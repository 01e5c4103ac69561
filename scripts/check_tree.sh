#!/usr/bin/env bash
# What a `git add -A` may have caught by mistake: folders at the root that are not of the house, files above 1 MiB. Prints
# each and exits 1; outside of a git checkout there is nothing to check.   check_tree.sh [ROOT]
set -u
cd "${1:-.}" || exit 2
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0
known='^(\.ci|bench|catalog|cmake|cuda|docs|examples|fuzz|packaging|plugins|scripts|src|tests|web)$'
bad=0
for folder in $(git ls-files | grep / | cut -d/ -f1 | sort -u | grep -vE "$known"); do
  echo "$folder/: no folder of the house"
  bad=1
done
while read -r size name; do
  [ "$size" -gt 1048576 ] && echo "$name: $size bytes, more than a repository should carry" && bad=1
done < <(git ls-files -z | xargs -0 stat -c '%s %n' 2>/dev/null)
exit $bad
