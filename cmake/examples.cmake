# Each examples/<name>.cpp is a program, and a test: it must end with status 0.
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp)
foreach(source IN LISTS examples)
  cmake_path(GET source STEM name)
  add_executable(example_${name} ${source})
  set_target_properties(example_${name} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  target_link_libraries(example_${name} PRIVATE dynaflow::dynaflow dynaflow_warnings)
  add_test(NAME example_${name} COMMAND example_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(example_${name} PROPERTIES TIMEOUT 900)
endforeach()
