# What users are given, and how it reaches them: `cmake --install BUILD --prefix P` and `cpack -G DEB`. All below a prefix may be
# moved; nothing of it names the source or the build.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(FRESHET_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/freshet")
set(FRESHET_HEADER_DIR "${CMAKE_INSTALL_INCLUDEDIR}/freshet")
# The file that tells `freshet build` how jobs are compiled, and the way to it from the binary.
set(FRESHET_TOOLCHAIN_DIR "${CMAKE_INSTALL_LIBDIR}/freshet")
file(RELATIVE_PATH FRESHET_TOOLCHAIN_FROM_BINARY "/${CMAKE_INSTALL_BINDIR}" "/${FRESHET_TOOLCHAIN_DIR}/toolchain")
file(RELATIVE_PATH FRESHET_LIBRARY_FROM_BINARY "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")

# freshet_write_toolchain(FILE HEADERS LIBRARY): the two may be relative to the file; the format is explained in runtime/app/job_toolchain.h.
function(freshet_write_toolchain FILE HEADERS LIBRARY)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags NATIVE_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  list(PREPEND flags -std=c++20)
  list(APPEND flags -fno-omit-frame-pointer ${FRESHET_SANITIZE_OPTIONS} -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -DFMT_SHARED)
  set(lines "compiler ${CMAKE_CXX_COMPILER}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    string(REGEX MATCH "^[0-9]+" major "${CMAKE_CXX_COMPILER_VERSION}")
    list(INSERT lines 1 "compiler g++-${major}")
    if(CMAKE_CXX_COMPILER MATCHES "^/usr/bin/")  # The system's default may become another one than that of the library.
      list(REVERSE lines)
    endif()
  endif()
  get_filename_component(name "${CMAKE_CXX_COMPILER}" NAME)
  list(APPEND lines "compiler ${name}")  # On another machine.
  foreach(flag IN LISTS flags)
    list(APPEND lines "flag ${flag}")
  endforeach()
  list(APPEND lines "gnu-flag -fno-gnu-unique" "headers ${HEADERS}" "library ${LIBRARY}" "link -lfmt")
  if(NOT FRESHET_SANITIZE)
    list(APPEND lines "link -Wl,--no-undefined")
  endif()
  list(JOIN lines "\n" text)
  file(CONFIGURE OUTPUT "${FILE}" CONTENT "${text}\n" @ONLY)
endfunction()

# freshet_install(): after every target is there.
function(freshet_install)
  install(TARGETS freshet RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(TARGETS freshet_lib freshet_http LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright)

  # Headers: what jobs and their tests may include, and whatever these include, found when it is installed.
  install(CODE "
    set(source \"${CMAKE_SOURCE_DIR}\")
    set(roots runtime/api/job.h runtime/connectors runtime/testing)
    set(destination \"${FRESHET_HEADER_DIR}\")
    include(\"${CMAKE_SOURCE_DIR}/cmake/InstallHeaders.cmake\")")

  # The CMake package.
  configure_package_config_file(cmake/freshetConfig.cmake.in freshetConfig.cmake INSTALL_DESTINATION "${FRESHET_PACKAGE_DIR}"
    PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR FRESHET_HEADER_DIR)
  write_basic_package_version_file(freshetConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES "${CMAKE_BINARY_DIR}/freshetConfig.cmake" "${CMAKE_BINARY_DIR}/freshetConfigVersion.cmake"
    cmake/FreshetJob.cmake DESTINATION "${FRESHET_PACKAGE_DIR}")

  # How `freshet build` compiles: once for the build tree, once for what is installed.
  freshet_write_toolchain("${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${FRESHET_TOOLCHAIN_FROM_BINARY}" "${CMAKE_SOURCE_DIR}"
    "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libfreshet.so")
  file(RELATIVE_PATH headers "/${FRESHET_TOOLCHAIN_DIR}" "/${FRESHET_HEADER_DIR}")
  file(RELATIVE_PATH library "/${FRESHET_TOOLCHAIN_DIR}" "/${CMAKE_INSTALL_LIBDIR}/libfreshet.so")
  freshet_write_toolchain("${CMAKE_BINARY_DIR}/installed/toolchain" "${headers}" "${library}")
  install(FILES "${CMAKE_BINARY_DIR}/installed/toolchain" DESTINATION "${FRESHET_TOOLCHAIN_DIR}")
endfunction()

# freshet_package(): what `cpack -G DEB` makes. Last, since it reads what was said before.
function(freshet_package)
  string(REGEX MATCH "^[0-9]+" major "${CMAKE_CXX_COMPILER_VERSION}")
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME freshet)
  set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
  set(CPACK_PACKAGE_CONTACT "Freshet maintainers <maintainers@freshet.invalid>")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "runtime for streaming and batch dataflow jobs in C++")
  set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "A JobManager process decides, TaskManager processes work, and a job is a\nC++ source that 'freshet run' builds and runs.")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  # A machine that only runs a TaskManager needs no compiler, and none of what headers include.
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++-${major} | g++, libfmt-dev, libexpected-dev, libboost1.81-dev")
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, protobuf-compiler, libprotobuf-dev")
  include(CPack)
endfunction()
