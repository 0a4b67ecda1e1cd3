# The PyTorch side: the library dynaflow_torch and the Python module _C.
# torch is found through Python, not by find_package(Torch): a torch with CUDA would ask for the
# CUDA toolkit there, and nothing of ours needs it.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/find_torch.py
  OUTPUT_VARIABLE torch OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE torch_missing)
if(torch_missing)
  message(FATAL_ERROR
    "${Python_EXECUTABLE} has no torch. Install torch==2.13.0 there first; with pip, build by\n"
    "  pip install --no-build-isolation .\n"
    "since pip's isolated builds do not see installed packages.")
endif()
list(GET torch 0 DYNAFLOW_TORCH_VERSION)
list(GET torch 1 torch_root)
if(NOT DYNAFLOW_TORCH_VERSION MATCHES "^2\\.13\\.")
  message(FATAL_ERROR "DynaFlow needs torch 2.13, not ${DYNAFLOW_TORCH_VERSION} (${torch_root})")
endif()
message(STATUS "Found torch ${DYNAFLOW_TORCH_VERSION} in ${torch_root}")
find_package(OpenMP REQUIRED COMPONENTS CXX)

# Torch's headers are somebody else's: no warnings from them. pybind11 is among them, the one that
# torch was built with, so that tensors can be passed. OpenMP is torch's own too, where it brings
# one: teams of two runtimes would not know of each other.
add_library(dynaflow_libtorch INTERFACE)
target_include_directories(dynaflow_libtorch SYSTEM INTERFACE
  ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
target_compile_definitions(dynaflow_libtorch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
foreach(name IN ITEMS torch torch_cpu c10)
  target_link_libraries(dynaflow_libtorch INTERFACE ${torch_root}/lib/lib${name}.so)
endforeach()
target_compile_options(dynaflow_libtorch INTERFACE ${OpenMP_CXX_FLAGS})
file(GLOB torch_openmp ${torch_root}/lib/libgomp*.so*)
target_link_libraries(dynaflow_libtorch INTERFACE
  $<IF:$<BOOL:${torch_openmp}>,${torch_openmp},OpenMP::OpenMP_CXX>)

file(GLOB_RECURSE torch_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/torch/aten/*.cpp ${PROJECT_SOURCE_DIR}/src/torch/collective/*.cpp
  ${PROJECT_SOURCE_DIR}/src/torch/model/*.cpp)
add_library(dynaflow_torch OBJECT ${torch_sources})
target_link_libraries(dynaflow_torch
  PUBLIC dynaflow_import dynaflow_libtorch
  PRIVATE nlohmann_json::nlohmann_json dynaflow_warnings)
set_target_properties(dynaflow_torch PROPERTIES POSITION_INDEPENDENT_CODE ON)

set(package ${PROJECT_BINARY_DIR}/python/dynaflow)
file(GLOB binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/torch/bindings/*.cpp)
Python_add_library(_C MODULE WITH_SOABI ${binding_sources})
target_link_libraries(_C
  PRIVATE dynaflow_torch ${torch_root}/lib/libtorch_python.so dynaflow_warnings)
set_target_properties(_C PROPERTIES
  CXX_VISIBILITY_PRESET hidden
  INSTALL_RPATH "$ORIGIN/../torch/lib"
  LIBRARY_OUTPUT_DIRECTORY ${package})
# What dynaflow/_version.py must know before it dares to load _C.
configure_file(cmake/_built.py.in ${package}/_built.py @ONLY)
install(TARGETS _C LIBRARY DESTINATION dynaflow COMPONENT python)
install(FILES ${package}/_built.py DESTINATION dynaflow COMPONENT python)

# With PYTHONPATH=build/torch/python the sources of python/dynaflow are used where they are.
add_custom_target(python_package ALL
  COMMAND ${CMAKE_COMMAND}
    -D from=${PROJECT_SOURCE_DIR}/python/dynaflow -D to=${package}
    -P ${PROJECT_SOURCE_DIR}/cmake/link_package.cmake
  COMMENT "Linking python/dynaflow beside _C")
add_dependencies(python_package _C)
