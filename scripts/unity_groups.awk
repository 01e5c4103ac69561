# unity_groups.awk FILE...: which sources may be compiled as one translation unit. Prints "FILE GROUP"
# for each .cc; headers (.h) are only looked at. Two files that declare the same name in an unnamed
# namespace, or of which one uses a name that the other declares there, never come into one group, and
# a file that declares a type whose name a header uses stays alone: neither an error nor another
# overload can come of it.
BEGIN {
  MOST = 10
  LETTERS = "_abcdefghijklmnopqrstuvwxyz0123456789.ABCDEFGHIJKLMNOPQRSTUVWXYZ-"
}
FNR == 1 { is_header = FILENAME ~ /\.h$/; inside = 0 }
FNR == 1 && !is_header { files[++count] = FILENAME }
/^namespace \{/ { inside = 1; next }
/^\}  \/\/ namespace$/ { inside = 0; next }
{
  sub(/\/\/.*/, "")
  gsub(/"([^"\\]|\\.)*"/, "\"\"")
}
is_header {
  sub(/\/\/.*/, "")
  header_words($0)
  next
}
/^#define / { split($2, macro, "("); declare(macro[1]); next }
/^using [A-Za-z_:]+::[A-Za-z_]+;/ {
  path = $2; sub(/;.*/, "", path)
  name = path; sub(/.*::/, "", name)
  use(name)
  taken[count, name] = path
  next
}
inside && /^[A-Za-z_:]/ { declarations($0) }
inside && /^ .*k[A-Z][A-Za-z0-9_]* = / { constants($0) }
{ uses($0) }

function declare(name) {
  if (name != "" && !((count, name) in declared)) {
    declared[count, name] = 1
    declared_list[count] = declared_list[count] " " name
  }
}
function header_words(line) {
  while (match(line, /[A-Za-z_][A-Za-z_0-9]*/)) {
    if (substr(line, RSTART, 1) ~ /[A-Z]/) in_header[substr(line, RSTART, RLENGTH)] = 1
    line = substr(line, RSTART + RLENGTH)
  }
}
function use(name) {
  if (!((count, name) in used)) {
    used[count, name] = 1
    used_list[count] = used_list[count] " " name
  }
}
function constants(line) {
  while (match(line, /k[A-Z][A-Za-z0-9_]*/)) {
    declare(substr(line, RSTART, RLENGTH))
    line = substr(line, RSTART + RLENGTH)
  }
}
function declarations(line,   head) {
  constants(line)
  if (match(line, /^(template <.*> )?(struct|class|enum class|enum|union|using) [A-Za-z_0-9]+/)) {
    head = substr(line, RSTART, RLENGTH)
    sub(/.* /, "", head)
    declare(head)
    return
  }
  head = line
  sub(/[({=;[].*/, "", head)
  if (match(head, /[A-Za-z_][A-Za-z_0-9]*[ ]*$/)) {
    head = substr(head, RSTART, RLENGTH)
    sub(/ +$/, "", head)
    declare(head)
  }
}
# unqualified calls, types and constants
function uses(line,   before, name, after) {
  while (match(line, /[A-Za-z_][A-Za-z_0-9]*/)) {
    before = RSTART > 1 ? substr(line, RSTART - 1, 1) : " "
    name = substr(line, RSTART, RLENGTH)
    after = substr(line, RSTART + RLENGTH, 1)
    line = substr(line, RSTART + RLENGTH)
    if (before ~ /[.:>]/) continue
    if (after == "(" || name ~ /^[A-Z]/ || name ~ /^k[A-Z]/) use(name)
  }
}
function fits(file, group,   names, n, i) {
  if (!size[group]) return 1
  if (size[group] >= MOST || stays_alone[group]) return 0
  n = split(declared_list[file], names, " ")
  for (i = 1; i <= n; ++i)
    if (names[i] in in_header || (group, names[i]) in group_declared || (group, names[i]) in group_used) return 0
  n = split(used_list[file], names, " ")
  for (i = 1; i <= n; ++i) {
    if ((group, names[i]) in group_declared) return 0
    if ((file, names[i]) in taken && (group, names[i]) in group_taken &&
        group_taken[group, names[i]] != taken[file, names[i]]) return 0
  }
  return 1
}
function join(file, group,   names, n, i) {
  ++size[group]
  n = split(declared_list[file], names, " ")
  for (i = 1; i <= n; ++i) {
    group_declared[group, names[i]] = 1
    if (names[i] in in_header) stays_alone[group] = 1
  }
  n = split(used_list[file], names, " ")
  for (i = 1; i <= n; ++i) {
    group_used[group, names[i]] = 1
    if ((file, names[i]) in taken) group_taken[group, names[i]] = taken[file, names[i]]
  }
  print files[file], group
}
# A number of the name alone: which group a file comes to does not hang on what other files are there.
function hash(name,   i, value) {
  sub(/.*\//, "", name)
  for (i = 1; i <= length(name); ++i)
    value = (value * 31 + index(LETTERS, substr(name, i, 1))) % 8388593
  return value
}
END {
  groups = 4 * int((count / 8 + 3.99) / 4)
  if (count <= 8) groups = 1
  for (file = 1; file <= count; ++file) {
    first = hash(files[file]) % groups
    for (step = 0; step < groups && !fits(file, 1 + (first + step) % groups); ++step) {}
    group = 1 + (first + step) % groups
    if (step == groups)
      for (group = groups + 1; !fits(file, group); ++group) {}
    join(file, group)
  }
}
