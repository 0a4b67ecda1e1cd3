# `cmake --install` gives C++ users find_package(dynaflow) and the target dynaflow::dynaflow.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/dynaflow)
install(TARGETS dynaflow EXPORT dynaflow
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/dynaflow
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT dynaflow
  NAMESPACE dynaflow:: FILE dynaflow-targets.cmake DESTINATION ${package})

configure_package_config_file(cmake/dynaflow-config.cmake.in dynaflow-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(dynaflow-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/dynaflow-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/dynaflow-config-version.cmake
  DESTINATION ${package})
