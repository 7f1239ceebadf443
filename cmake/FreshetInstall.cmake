# What users are given, and how it reaches them: `cmake --install BUILD --prefix P` and `cpack -G DEB`. All below a prefix may be
# moved; nothing of it names the source or the build.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(FRESHET_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/freshet")
set(FRESHET_HEADER_DIR "${CMAKE_INSTALL_INCLUDEDIR}/freshet")
file(RELATIVE_PATH FRESHET_LIBRARY_FROM_BINARY "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")

# freshet_install(): after every target is there.
function(freshet_install)
  install(TARGETS freshet RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(TARGETS freshet_lib LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
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
endfunction()
