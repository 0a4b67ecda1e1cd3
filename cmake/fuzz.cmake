# Each fuzz/<name>.cpp is a libFuzzer program, and a test that fuzzes for a bounded time.
# The fuzz preset compiles everything with -fsanitize=fuzzer-no-link; only these link its main.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "DYNAFLOW_FUZZ needs clang: use `cmake --preset fuzz`")
endif()
set(DYNAFLOW_FUZZ_SECONDS 20 CACHE STRING "How long ctest runs each fuzz target")

file(GLOB targets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cpp)
foreach(source IN LISTS targets)
  cmake_path(GET source STEM name)
  add_executable(fuzz_${name} ${source})
  target_link_libraries(fuzz_${name} PRIVATE dynaflow::dynaflow dynaflow_warnings)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  # New inputs go to the build folder; fuzz/corpus/<name>, if there is one, only seeds them.
  set(found ${PROJECT_BINARY_DIR}/corpus/${name})
  set(seeds ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
  file(MAKE_DIRECTORY ${found})
  if(NOT EXISTS ${seeds})
    set(seeds "")
  endif()
  add_test(NAME fuzz_${name}
    COMMAND fuzz_${name} -max_total_time=${DYNAFLOW_FUZZ_SECONDS} -timeout=10 -print_final_stats=1
      -artifact_prefix=${PROJECT_BINARY_DIR}/ ${found} ${seeds})
  set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 900)
endforeach()
