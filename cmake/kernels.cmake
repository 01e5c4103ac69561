# The inner loops of measure/engines/local are compiled once per instruction set; the program picks
# one at start. -O3 vectorises; nothing here changes the result of an operation (no -ffast-math).
set(folder ${CMAKE_SOURCE_DIR}/src/measure/engines/local)
set(loops -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off)
set_source_files_properties(${folder}/kernels_baseline.cc PROPERTIES COMPILE_OPTIONS "${loops}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${folder}/kernels_avx2.cc PROPERTIES
    COMPILE_OPTIONS "${loops};-mavx2")
  set_source_files_properties(${folder}/kernels_avx512.cc PROPERTIES
    COMPILE_OPTIONS "${loops};-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mprefer-vector-width=512")
endif()
