# Each bench/<name>.cpp is a program bench_<name>; what they share is bench/support.
find_package(benchmark REQUIRED)
find_package(TBB REQUIRED)

file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/support/*.cpp)
if(support)
  add_library(dynaflow_bench_support STATIC ${support})
  set(scope PUBLIC)
  target_link_libraries(dynaflow_bench_support PRIVATE dynaflow_warnings)
else()
  add_library(dynaflow_bench_support INTERFACE)
  set(scope INTERFACE)
endif()
target_include_directories(dynaflow_bench_support ${scope} ${PROJECT_SOURCE_DIR}/bench)
target_link_libraries(dynaflow_bench_support
  ${scope} dynaflow::dynaflow nlohmann_json::nlohmann_json benchmark::benchmark TBB::tbb)

file(GLOB benches CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
foreach(source IN LISTS benches)
  cmake_path(GET source STEM name)
  add_executable(bench_${name} ${source})
  set_target_properties(bench_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_link_libraries(bench_${name} PRIVATE dynaflow_bench_support dynaflow_warnings)
endforeach()
