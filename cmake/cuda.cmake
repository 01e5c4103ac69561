# comm_probe_kernels(MODULE): each cuda/*.cu becomes a fatbin inside comm_probe_MODULE where nvcc is found (-DCOMM_PROBE_NVCC=
# for one that is not on the PATH, -DCOMM_PROBE_NVCC=OFF for none); src/measure/engines/cuda/kernel_image.h reads them. A
# failing nvcc fails the build.
find_program(COMM_PROBE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)

function(comm_probe_kernels module)
  set(output ${CMAKE_BINARY_DIR}/embedded_kernels.cc)
  set(images "")
  if(COMM_PROBE_NVCC)
    execute_process(COMMAND ${COMM_PROBE_NVCC} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
    set(codes "")
    foreach(number 80 90 100)
      if(known MATCHES "compute_${number}[^0-9]")
        list(APPEND codes -gencode arch=compute_${number},code=sm_${number})
      endif()
    endforeach()
    list(APPEND codes -gencode arch=compute_80,code=compute_80)
    file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cuda/*.cu)
    file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cuda/*.h ${CMAKE_SOURCE_DIR}/cuda/*.cuh
      ${CMAKE_SOURCE_DIR}/src/measure/engines/cuda/*.h)
    foreach(kernel ${kernels})
      get_filename_component(name ${kernel} NAME_WE)
      set(image ${CMAKE_BINARY_DIR}/${name}.fatbin)
      add_custom_command(OUTPUT ${image}
        COMMAND ${COMM_PROBE_NVCC} -fatbin -std=c++17 -O3 ${codes} -I${CMAKE_SOURCE_DIR}/src -o ${image} ${kernel}
        DEPENDS ${kernel} ${headers}
        COMMENT "compiling cuda/${name}.cu"
        VERBATIM)
      list(APPEND images ${image})
    endforeach()
  else()
    message(STATUS "nvcc was not found: the program carries no GPU kernels")
  endif()
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DFILES=${images}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_kernels.cmake
    DEPENDS ${images} ${CMAKE_SOURCE_DIR}/cmake/embed_kernels.cmake
    VERBATIM)
  target_sources(comm_probe_${module} PRIVATE ${output})
endfunction()
