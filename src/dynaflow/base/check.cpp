#include "dynaflow/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace dynaflow {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "dynaflow: internal check failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace dynaflow
