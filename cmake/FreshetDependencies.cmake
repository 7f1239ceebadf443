# Everything comes from Debian 12 packages; scripts/packages lists them.
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_path(FRESHET_ASIO_INCLUDE asio.hpp REQUIRED)
find_path(FRESHET_XXHASH_INCLUDE xxhash.h REQUIRED)
find_path(FRESHET_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)
find_path(FRESHET_BOOST_INCLUDE boost/pfr.hpp REQUIRED)

find_path(FRESHET_HTTPLIB_INCLUDE httplib.h REQUIRED)
find_library(FRESHET_HTTPLIB_LIBRARY cpp-httplib REQUIRED)
# As Debian's library is compiled; the header must say the same.
add_library(freshet_httplib INTERFACE)
target_compile_definitions(freshet_httplib INTERFACE CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
target_link_libraries(freshet_httplib INTERFACE "${FRESHET_HTTPLIB_LIBRARY}" Threads::Threads)

# How blocks in files are made smaller.
foreach(codec IN ITEMS lz4 zstd)
  find_path(FRESHET_${codec}_INCLUDE ${codec}.h REQUIRED)
  find_library(FRESHET_${codec}_LIBRARY ${codec} REQUIRED)
  add_library(freshet_${codec} INTERFACE)
  target_link_libraries(freshet_${codec} INTERFACE "${FRESHET_${codec}_LIBRARY}")
endforeach()

# Its variant that reads symbol and line tables itself.
find_path(FRESHET_STACKTRACE_INCLUDE boost/stacktrace.hpp REQUIRED)
find_library(FRESHET_STACKTRACE_LIBRARY boost_stacktrace_backtrace REQUIRED)
add_library(freshet_stacktrace INTERFACE)
target_compile_definitions(freshet_stacktrace INTERFACE BOOST_STACKTRACE_DYN_LINK BOOST_STACKTRACE_USE_BACKTRACE)
target_link_libraries(freshet_stacktrace INTERFACE "${FRESHET_STACKTRACE_LIBRARY}" ${CMAKE_DL_LIBS})

find_path(FRESHET_PROMETHEUS_INCLUDE prometheus/text_serializer.h REQUIRED)
find_library(FRESHET_PROMETHEUS_LIBRARY prometheus-cpp-core REQUIRED)
add_library(freshet_prometheus INTERFACE)  # Only the part that makes text.
target_link_libraries(freshet_prometheus INTERFACE "${FRESHET_PROMETHEUS_LIBRARY}")

add_library(freshet_asio INTERFACE)
target_compile_definitions(freshet_asio INTERFACE ASIO_STANDALONE)
target_link_libraries(freshet_asio INTERFACE Threads::Threads)

if(FRESHET_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
