# freshet_library(NAME HEADERS ... SOURCES ... DEPS ... LIBS ...)
#   One module. DEPS are other modules (the arrows of the tree, checked by tests/tidy too); LIBS are foreign.
#   Modules are object libraries; freshet_shared_library() links all of them into libfreshet.
function(freshet_library NAME)
  cmake_parse_arguments(ARG "" "" "HEADERS;SOURCES;DEPS;LIBS" ${ARGN})
  set(target freshet_${NAME})
  add_library(${target} OBJECT ${ARG_SOURCES})
  add_library(freshet::${NAME} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}" FILES ${ARG_HEADERS})
  target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE freshet_warnings PUBLIC ${ARG_LIBS})
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(${target} PUBLIC freshet_${dep})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY FRESHET_MODULES ${target})
endfunction()

# freshet_proto(NAME PROTOS ...): control messages, compiled without our warnings.
function(freshet_proto NAME)
  cmake_parse_arguments(ARG "" "" "PROTOS" ${ARGN})
  set(target freshet_${NAME})
  set(out "${CMAKE_BINARY_DIR}/generated")
  set(sources "")
  foreach(proto IN LISTS ARG_PROTOS)
    file(RELATIVE_PATH relative "${CMAKE_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${proto}")
    string(REGEX REPLACE "\\.proto$" "" stem "${relative}")
    add_custom_command(
      OUTPUT "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${out}"
      COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR} --cpp_out=${out} ${relative}
      WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
      DEPENDS "${CMAKE_SOURCE_DIR}/${relative}" VERBATIM)
    list(APPEND sources "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h")
  endforeach()
  add_library(${target} OBJECT ${sources})
  add_library(freshet::${NAME} ALIAS ${target})
  target_include_directories(${target} SYSTEM PUBLIC "${out}")
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
  set_property(GLOBAL APPEND PROPERTY FRESHET_MODULES ${target})
endfunction()

# libfreshet: one copy of each registry, logger and descriptor pool per process.
function(freshet_shared_library)
  get_property(modules GLOBAL PROPERTY FRESHET_MODULES)
  add_library(freshet_lib SHARED)
  add_library(freshet::freshet ALIAS freshet_lib)
  set_target_properties(freshet_lib PROPERTIES OUTPUT_NAME freshet)
  foreach(module IN LISTS modules)
    target_sources(freshet_lib PRIVATE $<TARGET_OBJECTS:${module}>)
    get_target_property(libraries ${module} INTERFACE_LINK_LIBRARIES)
    foreach(library IN LISTS libraries)
      if(NOT library MATCHES "LINK_ONLY")
        if(NOT library IN_LIST modules)
          target_link_libraries(freshet_lib PUBLIC ${library})
        endif()
      endif()
    endforeach()
  endforeach()
  target_include_directories(freshet_lib PUBLIC "${CMAKE_SOURCE_DIR}")
  target_include_directories(freshet_lib SYSTEM PUBLIC "${CMAKE_BINARY_DIR}/generated")
  target_link_libraries(freshet_lib PUBLIC ${CMAKE_DL_LIBS})
endfunction()

# freshet_test(NAME SOURCES ... [LABELS ...] [LIBS ...]): one executable of tests, one ctest entry.
#   LABELS: unit, contract, sim, integration, example, tidy, fuzz; `concurrency` adds it to the tsan run.
function(freshet_test NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LABELS;LIBS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE freshet_warnings freshet::freshet GTest::gtest GTest::gmock GTest::gtest_main ${ARG_LIBS})
  add_test(NAME ${NAME} COMMAND ${NAME} --gtest_brief=1)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if(FRESHET_SANITIZE MATCHES "thread")
    # Address space layout randomisation of newer kernels breaks the runtime of GCC 12.
    set_tests_properties(${NAME} PROPERTIES
      ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/tsan.supp:halt_on_error=1")
    set_target_properties(${NAME} PROPERTIES CROSSCOMPILING_EMULATOR "setarch;-R")
  endif()
endfunction()

# freshet_bench(NAME SOURCES ...): build/<preset>/bin/bench_NAME, run through scripts/bench NAME.
function(freshet_bench NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(bench_${NAME} ${ARG_SOURCES})
  target_link_libraries(bench_${NAME} PRIVATE freshet_warnings freshet::freshet ${ARG_LIBS})
endfunction()
