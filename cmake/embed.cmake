# cmake -DOUTPUT=file.cc -DFILES="a.toml;b.toml" -P embed.cmake
# Writes a C++ file that holds the text of the files, for src/catalog/builtin_files.h.
set(entries "")
foreach(file ${FILES})
  file(READ ${file} text)
  get_filename_component(name ${file} NAME)
  string(APPEND entries "    BuiltinFile{\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"catalog/builtin_files.h\"

#include <array>

namespace comm_probe::catalog {
namespace {
const std::array kFiles = {
${entries}};
}  // namespace
std::span<const BuiltinFile> builtin_files() { return kFiles; }
}  // namespace comm_probe::catalog
")
