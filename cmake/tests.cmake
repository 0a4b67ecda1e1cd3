# One executable and one ctest per folder of tests/ that holds *_test.cpp files.
find_package(GTest REQUIRED)

# Shared arrangements of the tests, included as "support/….h".
file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
add_library(dynaflow_test_support STATIC ${support})
target_include_directories(dynaflow_test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(dynaflow_test_support
  PUBLIC dynaflow_import dynaflow::dynaflow nlohmann_json::nlohmann_json GTest::gmock
  PRIVATE dynaflow_warnings)
# Read once: most of what a test compiles.
target_precompile_headers(dynaflow_test_support PRIVATE <gmock/gmock.h> <gtest/gtest.h>)

file(GLOB rooms CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/*)
foreach(room IN LISTS rooms)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${room}/*_test.cpp)
  if(NOT tests)
    continue()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${room}/*.cpp)
  add_executable(${room}_test ${sources})
  target_link_libraries(${room}_test
    PRIVATE dynaflow_test_support dynaflow_warnings GTest::gmock_main)
  target_precompile_headers(${room}_test REUSE_FROM dynaflow_test_support)
  # Run in the source folder, so that a test opens its data as tests/<room>/….
  add_test(NAME ${room}
    COMMAND ${room}_test --gtest_brief=1 --gtest_output=xml:${results}/gtest-${room}.xml
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${room} PROPERTIES TIMEOUT 900)
endforeach()

if(DYNAFLOW_PACKAGE_TEST)
  add_test(NAME package
    COMMAND ${CMAKE_COMMAND}
      -D build=${PROJECT_BINARY_DIR}
      -D compiler=${CMAKE_CXX_COMPILER}
      -P ${PROJECT_SOURCE_DIR}/tests/package/check.cmake)
  set_tests_properties(package PROPERTIES TIMEOUT 900)
endif()
