# Each tools/<name>.cpp is a program dynaflow-<name>.
file(GLOB tools CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.cpp)
foreach(source IN LISTS tools)
  cmake_path(GET source STEM name)
  add_executable(dynaflow-${name} ${source})
  target_link_libraries(dynaflow-${name}
    PRIVATE dynaflow_import nlohmann_json::nlohmann_json dynaflow_warnings)
endforeach()
