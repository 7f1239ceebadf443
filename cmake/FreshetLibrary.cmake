# freshet_library(NAME HEADERS ... SOURCES ... DEPS ... LIBS ... PRIVATE_LIBS ...)
#   One module. DEPS are other modules (the arrows of the tree, checked by tests/tidy too); LIBS are foreign; PRIVATE_LIBS, too, and
#   no header of the module shows them.
#   Modules are object libraries; freshet_shared_library() links all of them into libfreshet.
function(freshet_library NAME)
  cmake_parse_arguments(ARG "" "" "HEADERS;SOURCES;DEPS;LIBS;PRIVATE_LIBS" ${ARGN})
  set(target freshet_${NAME})
  add_library(${target} OBJECT ${ARG_SOURCES})
  add_library(freshet::${NAME} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}" FILES ${ARG_HEADERS})
  target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE freshet_warnings ${ARG_PRIVATE_LIBS} PUBLIC ${ARG_LIBS})
  set_property(GLOBAL APPEND PROPERTY FRESHET_PRIVATE_LIBS ${ARG_PRIVATE_LIBS})
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(${target} PUBLIC freshet_${dep})
  endforeach()
  freshet_use_precompiled(${target} freshet_precompiled)
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
  get_property(private_libs GLOBAL PROPERTY FRESHET_PRIVATE_LIBS)
  target_link_libraries(freshet_lib PUBLIC ${CMAKE_DL_LIBS} PRIVATE ${private_libs})
  freshet_products(freshet_lib)
endfunction()

# freshet_http_library(SOURCES ...): libfreshet_http, what a process loads when it starts an HTTP server, with the foreign libraries of
# that; see runtime/rest/http_server.h. Whoever starts one must depend on it.
function(freshet_http_library)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  add_library(freshet_http MODULE ${ARG_SOURCES})
  set_target_properties(freshet_http PROPERTIES INSTALL_RPATH "$ORIGIN")
  target_link_libraries(freshet_http PRIVATE freshet_warnings freshet::freshet freshet_httplib)
  freshet_use_precompiled(freshet_http freshet_precompiled)
  freshet_products(freshet_http)
endfunction()

# freshet_test(NAME SOURCES ... [LABELS ...] [LIBS ...] [ARGUMENTS ...] [TIMEOUT seconds]): one executable of tests, one ctest entry.
#   LABELS: unit, contract, sim, integration, example, tidy, fuzz; `concurrency` adds it to the tsan run.
#   A source may have a main() of its own. Results lie in <build>/test-results, where tests/run_tests.py counts them.
function(freshet_test NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LABELS;LIBS;ARGUMENTS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE freshet_warnings freshet::freshet GTest::gtest GTest::gmock GTest::gtest_main ${ARG_LIBS})
  target_compile_options(${NAME} PRIVATE ${FRESHET_TEST_OPTIONS})
  freshet_use_precompiled(${NAME} freshet_precompiled_tests)
  set(command $<TARGET_FILE:${NAME}>)
  set(environment "")
  if(FRESHET_SANITIZE MATCHES "thread")
    # Address space layout randomisation of newer kernels breaks the runtime of GCC 12.
    set(command setarch -R ${command})
    set(environment "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/tsan.supp:halt_on_error=1")
  endif()
  add_test(NAME ${NAME} COMMAND ${command} --gtest_brief=1
    --gtest_output=json:${CMAKE_BINARY_DIR}/test-results/${NAME}.json ${ARG_ARGUMENTS})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${environment}")
  foreach(label IN LISTS ARG_LABELS)
    set_property(GLOBAL APPEND PROPERTY FRESHET_TESTS_${label} ${NAME})
  endforeach()
  if("integration" IN_LIST ARG_LABELS OR "example" IN_LIST ARG_LABELS)
    # These start whole clusters; beside each other they would mostly measure each other.
    set_tests_properties(${NAME} PROPERTIES RUN_SERIAL ON)
    add_dependencies(${NAME} freshet_products)
  endif()
endfunction()

# freshet_products(TARGET ...): adds what users are given (binary, library, example jobs) to the target freshet_products.
if(NOT TARGET freshet_products)
  add_custom_target(freshet_products)
endif()
function(freshet_products)
  foreach(target IN LISTS ARGN)
    add_dependencies(freshet_products ${target})
  endforeach()
endfunction()

# freshet_test_targets(): `core_tests` builds what needs no cluster, `concurrency_tests` what the tsan preset runs. Last.
function(freshet_test_targets)
  add_custom_target(core_tests)
  add_custom_target(concurrency_tests)
  foreach(label unit contract sim)
    get_property(tests GLOBAL PROPERTY FRESHET_TESTS_${label})
    if(tests)
      add_dependencies(core_tests ${tests})
    endif()
  endforeach()
  get_property(tests GLOBAL PROPERTY FRESHET_TESTS_concurrency)
  if(tests)
    add_dependencies(concurrency_tests ${tests})
  endif()
endfunction()

# freshet_bench(NAME SOURCES ...): build/<preset>/bin/bench_NAME, run through scripts/bench NAME.
function(freshet_bench NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(bench_${NAME} ${ARG_SOURCES})
  target_link_libraries(bench_${NAME} PRIVATE freshet_warnings freshet::freshet ${ARG_LIBS})
endfunction()
