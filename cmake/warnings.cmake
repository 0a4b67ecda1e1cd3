# The warnings every target of ours is built with. -Wsign-conversion is left out: sizes of the
# standard library are unsigned, ours are signed, and clang-tidy reports the conversions that lose.
add_library(dynaflow_warnings INTERFACE)
target_compile_options(dynaflow_warnings INTERFACE
  -Wall -Wextra -Wpedantic
  -Wcast-qual
  -Wextra-semi
  -Wformat=2
  -Wimplicit-fallthrough
  -Wnon-virtual-dtor
  -Wold-style-cast
  -Woverloaded-virtual
  -Wshadow
  -Wundef
  -Wunused
  $<$<BOOL:${DYNAFLOW_WERROR}>:-Werror>
  # clang reports std::stable_sort of g++ 12's own headers.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  # g++ 12 reports std::string concatenation in its own headers (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-branches>
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond>
  $<$<CXX_COMPILER_ID:GNU>:-Wlogical-op>)
