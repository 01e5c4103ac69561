# cmake -DOUTPUT=file.cc -DFILES="a.fatbin;b.fatbin" -P embed_kernels.cmake
# Writes a C++ file that holds the bytes of the files, for src/measure/engines/cuda/kernel_image.h.
set(arrays "")
set(entries "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  # the driver reads a fatbin in words
  string(APPEND arrays "alignas(64) constexpr unsigned char k_${name}[] = {${bytes}};\n")
  string(APPEND entries "KernelImage{\"${name}\", k_${name}}, ")
endforeach()
if(entries)
  set(result "static constexpr KernelImage kImages[] = {${entries}};\n  return kImages;")
else()
  set(result "return {};")
endif()
file(WRITE ${OUTPUT} "#include \"measure/engines/cuda/kernel_image.h\"

namespace comm_probe::measure::cuda {
namespace {
${arrays}}  // namespace
std::span<const KernelImage> kernel_images() {
  ${result}
}
}  // namespace comm_probe::measure::cuda
")
