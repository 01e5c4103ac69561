# comm_probe_module(NAME [USES modules...] [LINK libraries...])
# One folder of src/ = one static library comm_probe_NAME made of every .cc below it (main.cc left out).
# A folder that has no source yet is skipped, and so is any mention of it in USES.
function(comm_probe_module name)
  cmake_parse_arguments(ARG "" "" "USES;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(NOT sources)
    return()
  endif()
  add_library(comm_probe_${name} STATIC ${sources})
  target_include_directories(comm_probe_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(comm_probe_${name} PUBLIC ${ARG_LINK})
  comm_probe_unity(comm_probe_${name} ${CMAKE_SOURCE_DIR}/src/${name} ${sources})
  foreach(used ${ARG_USES})
    if(TARGET comm_probe_${used})
      target_link_libraries(comm_probe_${name} PUBLIC comm_probe_${used})
    endif()
  endforeach()
endfunction()

# comm_probe_embed(NAME PATTERN): the text of the files becomes part of comm_probe_NAME (cmake/embed.cmake).
function(comm_probe_embed name pattern)
  file(GLOB files CONFIGURE_DEPENDS ${pattern})
  set(output ${CMAKE_BINARY_DIR}/embedded_${name}.cc)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DMODULE=${name} -DOUTPUT=${output} "-DFILES=${files}" -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(comm_probe_${name} PRIVATE ${output})
endfunction()

# comm_probe_unity(TARGET FOLDER sources...): with COMM_PROBE_UNITY the sources are compiled some at a time, as one translation
# unit where no name of one can meet a name of another (scripts/unity_groups.awk). A third of the time from nothing;
# without it every edit compiles one file only.
function(comm_probe_unity target folder)
  if(NOT COMM_PROBE_UNITY)
    return()
  endif()
  set(files "")
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source)
    list(APPEND files ${source})
  endforeach()
  file(GLOB_RECURSE headers ${folder}/*.h)
  execute_process(COMMAND awk -f ${CMAKE_SOURCE_DIR}/scripts/unity_groups.awk ${headers} ${files}
    OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" groups "${groups}")
  foreach(line ${groups})
    if(line MATCHES "^(.*) ([0-9]+)$")
      set_source_files_properties(${CMAKE_MATCH_1} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_2})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_BATCH_SIZE 0)
endfunction()
