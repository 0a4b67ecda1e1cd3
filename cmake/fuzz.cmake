# Each fuzz/<name>.cpp is a libFuzzer program, and a test that runs it for a bounded while, from a
# fixed seed: a failure stays a failure. To look further, run build/fuzz/fuzz_<name> by hand.
# The fuzz preset compiles everything with -fsanitize=fuzzer-no-link; only these link its main.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "DYNAFLOW_FUZZ needs clang: use `cmake --preset fuzz`")
endif()
set(DYNAFLOW_FUZZ_RUNS 20000 CACHE STRING "How many inputs ctest gives each fuzz target")

# The random graphs and reference runs of the tests serve here too.
file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
add_library(dynaflow_fuzz_support STATIC ${support})
target_include_directories(dynaflow_fuzz_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(dynaflow_fuzz_support PUBLIC dynaflow::dynaflow PRIVATE dynaflow_warnings)

file(GLOB targets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cpp)
foreach(source IN LISTS targets)
  cmake_path(GET source STEM name)
  add_executable(fuzz_${name} ${source})
  target_link_libraries(fuzz_${name}
    PRIVATE dynaflow_fuzz_support nlohmann_json::nlohmann_json dynaflow_warnings)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  # New inputs go to the build folder; fuzz/corpus/<name>, if there is one, only seeds them.
  set(found ${PROJECT_BINARY_DIR}/corpus/${name})
  set(seeds ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
  file(MAKE_DIRECTORY ${found})
  if(NOT EXISTS ${seeds})
    set(seeds "")
  endif()
  add_test(NAME fuzz_${name}
    COMMAND fuzz_${name} -runs=${DYNAFLOW_FUZZ_RUNS} -seed=1 -timeout=30 -print_final_stats=1
      -artifact_prefix=${PROJECT_BINARY_DIR}/ ${found} ${seeds})
  set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 900)
endforeach()
