# freshet_add_job(NAME SOURCES ... [PROTOS ...] [OUTPUT_NAME name] [OUTPUT_DIRECTORY dir])
#   Builds a job module, jobs/NAME.so, in this tree and in a project that has found the package freshet. Two versions of one job must live beside each other in one process, so:
#   -fvisibility=hidden -fno-gnu-unique   otherwise inline and template statics of the second bind to the first;
#   LITE_RUNTIME for its .proto files     otherwise the second aborts: file already in the descriptor pool.
function(freshet_add_job NAME)
  cmake_parse_arguments(ARG "" "OUTPUT_NAME;OUTPUT_DIRECTORY;PROTO_ROOT" "SOURCES;PROTOS" ${ARGN})
  if(NOT ARG_OUTPUT_NAME)
    set(ARG_OUTPUT_NAME ${NAME})
  endif()
  if(NOT ARG_OUTPUT_DIRECTORY)
    set(ARG_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/jobs")
  endif()
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${NAME}.protos")
  set(generated "")
  if(ARG_PROTOS AND NOT TARGET protobuf::protoc)
    find_package(Protobuf REQUIRED)
  endif()
  foreach(proto IN LISTS ARG_PROTOS)
    get_filename_component(absolute "${proto}" ABSOLUTE)
    get_filename_component(directory "${absolute}" DIRECTORY)
    get_filename_component(stem "${absolute}" NAME_WLE)
    # protoc's lite: option makes every file of this module LITE_RUNTIME, whatever the file says.
    add_custom_command(
      OUTPUT "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${out}"
      COMMAND protobuf::protoc --proto_path=${directory} --cpp_out=lite:${out} ${absolute}
      DEPENDS "${absolute}" VERBATIM)
    list(APPEND generated "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h")
  endforeach()
  add_library(${NAME} MODULE ${ARG_SOURCES} ${generated})
  if(generated)
    set_source_files_properties(${generated} PROPERTIES COMPILE_OPTIONS "-w")
    target_include_directories(${NAME} SYSTEM PRIVATE "${out}")
    target_link_libraries(${NAME} PRIVATE protobuf::libprotobuf)
  endif()
  set_target_properties(${NAME} PROPERTIES PREFIX "" OUTPUT_NAME "${ARG_OUTPUT_NAME}" CXX_STANDARD 20 CXX_EXTENSIONS OFF
    LIBRARY_OUTPUT_DIRECTORY "${ARG_OUTPUT_DIRECTORY}" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${NAME} PRIVATE -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  target_link_libraries(${NAME} PRIVATE freshet::freshet)
  if(NOT TARGET freshet_warnings)  # In a project of its own.
    target_link_options(${NAME} PRIVATE -Wl,--no-undefined)
    if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
      target_compile_options(${NAME} PRIVATE -O2 -g1)
    endif()
    return()
  endif()
  target_link_libraries(${NAME} PRIVATE freshet_warnings)
  if(ARG_OUTPUT_DIRECTORY STREQUAL "${CMAKE_BINARY_DIR}/jobs")
    freshet_products(${NAME})
  endif()
endfunction()
