# A program that needs nothing but glibc: libstdc++ and every library that has an archive are linked in. Debian has none of
# libfmt; what its shared library holds is compiled from its headers (cmake/portable_fmt.cc). And it needs no newer glibc than
# it must: cmake/portable_random.cc.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)  # plug-ins find theirs as .so: Debian has no archives of them that can be loaded
# libgcc stays shared: every Linux has one, and the archive of Debian 12 would ask for glibc 2.35.
add_link_options(-static-libstdc++)

add_library(comm_probe_random OBJECT ${CMAKE_SOURCE_DIR}/cmake/portable_random.cc)
set_target_properties(comm_probe_random PROPERTIES POSITION_INDEPENDENT_CODE ON)

function(comm_probe_portable_fmt)
  add_library(comm_probe_fmt STATIC ${CMAKE_SOURCE_DIR}/cmake/portable_fmt.cc)
  get_target_property(headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(comm_probe_fmt SYSTEM PRIVATE ${headers})
  get_target_property(configurations fmt::fmt IMPORTED_CONFIGURATIONS)
  foreach(configuration ${configurations})
    set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION_${configuration} ${CMAKE_BINARY_DIR}/libcomm_probe_fmt.a)
  endforeach()
  add_dependencies(fmt::fmt comm_probe_fmt)
endfunction()
