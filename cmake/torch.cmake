# The PyTorch side: needs an installed torch (found through the Python that CMake uses).
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python_EXECUTABLE} -c "import torch.utils; print(torch.utils.cmake_prefix_path)"
  OUTPUT_VARIABLE torch_prefix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(Torch 2.13 REQUIRED CONFIG PATHS ${torch_prefix} NO_DEFAULT_PATH)
find_library(torch_python torch_python PATHS ${TORCH_INSTALL_PREFIX}/lib NO_DEFAULT_PATH REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

# Torch's headers are somebody else's: no warnings from them.
add_library(dynaflow_libtorch INTERFACE)
target_include_directories(dynaflow_libtorch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(dynaflow_libtorch INTERFACE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)

file(GLOB_RECURSE torch_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/torch/aten/*.cpp ${PROJECT_SOURCE_DIR}/src/torch/model/*.cpp)
add_library(dynaflow_torch STATIC ${torch_sources})
target_link_libraries(dynaflow_torch
  PUBLIC dynaflow_import dynaflow_libtorch
  PRIVATE nlohmann_json::nlohmann_json dynaflow_warnings)
set_target_properties(dynaflow_torch PROPERTIES POSITION_INDEPENDENT_CODE ON)

# pybind11 is the one that torch was built with, so that tensors can be passed.
file(GLOB binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/torch/bindings/*.cpp)
Python_add_library(_C MODULE WITH_SOABI ${binding_sources})
target_link_libraries(_C PRIVATE dynaflow_torch ${torch_python} dynaflow_warnings)
set_target_properties(_C PROPERTIES
  CXX_VISIBILITY_PRESET hidden
  INSTALL_RPATH "$ORIGIN/../torch/lib"
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/dynaflow)
install(TARGETS _C LIBRARY DESTINATION dynaflow COMPONENT python)
