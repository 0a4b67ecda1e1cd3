#include "torch/aten/current_step.h"

#include <utility>

namespace dynaflow::aten {
namespace {

thread_local const KernelArgs* current = nullptr;

}  // namespace

CurrentStep::CurrentStep(const KernelArgs& args) : before_(std::exchange(current, &args)) {}
CurrentStep::~CurrentStep() { current = before_; }
const KernelArgs* CurrentStep::get() { return current; }

}  // namespace dynaflow::aten
