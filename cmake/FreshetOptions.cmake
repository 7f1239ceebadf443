set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # What is installed needs neither tests nor benchmarks.

option(FRESHET_BUILD_TESTS "Build tests and benchmarks" ON)
option(FRESHET_ANALYZE "clang thread-safety analysis" OFF)
option(FRESHET_FUZZ "libFuzzer drives the targets of tests/fuzz; needs clang" OFF)
set(FRESHET_SANITIZE "" CACHE STRING "Sanitizers, as given to -fsanitize=")

find_program(FRESHET_CCACHE ccache)
if(FRESHET_CCACHE)
  # The settings that let ccache see through precompiled headers, and clones in other folders share their objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime
    "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${FRESHET_CCACHE}")
endif()
find_program(FRESHET_MOLD mold)
if(FRESHET_MOLD AND NOT FRESHET_ANALYZE)
  add_link_options(-fuse-ld=mold)
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")  # Under sanitizers, optimising costs more time than it saves in tests.
add_compile_options(-fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
endif()
# Test code is run once per build: the time of its optimisation would never come back.
set(FRESHET_TEST_OPTIONS -O0)

# Warnings are for our own code: generated and foreign code is SYSTEM.
add_library(freshet_warnings INTERFACE)
target_compile_options(freshet_warnings INTERFACE -Wall -Wextra -Werror -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of GCC 12 in inlined standard containers.
  target_compile_options(freshet_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized
    -Wno-stringop-overflow -Wno-array-bounds -Wno-stringop-overread -Wno-dangling-pointer)
endif()
if(FRESHET_ANALYZE)
  target_compile_options(freshet_warnings INTERFACE -Wthread-safety)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_definitions(ASIO_HAS_CO_AWAIT ASIO_HAS_STD_COROUTINE)
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # So that ccache knows a header that was parsed again.
endif()
if(FRESHET_FUZZ)
  # Not -O0, which halves the number of inputs per second.
  add_compile_options(-O1 -fsanitize=fuzzer-no-link)
endif()
set(FRESHET_SANITIZE_OPTIONS "")  # Of libfreshet and of every job for it.
if(FRESHET_SANITIZE)
  list(APPEND FRESHET_SANITIZE_OPTIONS -fsanitize=${FRESHET_SANITIZE} -fno-sanitize-recover=all)
  if(FRESHET_SANITIZE MATCHES "undefined")
    list(APPEND FRESHET_SANITIZE_OPTIONS -fno-sanitize=vptr)  # Job modules hide their type information from libfreshet.
  endif()
  add_compile_options(${FRESHET_SANITIZE_OPTIONS})
  add_link_options(-fsanitize=${FRESHET_SANITIZE})
  if(FRESHET_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan)
  endif()
endif()
