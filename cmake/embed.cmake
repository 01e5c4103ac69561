# cmake -DMODULE=catalog -DOUTPUT=file.cc -DFILES="a.toml;b.toml" -P embed.cmake
# Writes a C++ file that holds the text of the files, for src/MODULE/builtin_files.h.
set(entries "")
foreach(file ${FILES})
  file(READ ${file} text)
  get_filename_component(name ${file} NAME)
  string(APPEND entries "    BuiltinFile{\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"${MODULE}/builtin_files.h\"

// a page is longer than the 64 KiB that every compiler must take; GCC and clang take it
#pragma GCC diagnostic ignored \"-Woverlength-strings\"

#include <array>

namespace comm_probe::${MODULE} {
namespace {
const std::array kFiles = {
${entries}};
}  // namespace
std::span<const BuiltinFile> builtin_files() { return kFiles; }
}  // namespace comm_probe::${MODULE}
")
