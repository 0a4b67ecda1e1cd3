#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "dynaflow/graph/body.h"

namespace dynaflow::testing {

/// A body that counts what is asked of it, and does what a kernel does.
class CountingBody : public Body {
 public:
  using Scratch = std::function<std::int64_t(const BindArgs&)>;
  using OnBind = std::function<void(const BindArgs&)>;

  explicit CountingBody(
      Kernel kernel, Scratch scratch = [](const BindArgs&) { return 0; },
      OnBind on_bind = [](const BindArgs&) {})
      : kernel_(std::move(kernel)), scratch_(std::move(scratch)), on_bind_(std::move(on_bind)) {}

  [[nodiscard]] std::int64_t scratch_bytes(const BindArgs& args) const override {
    ++scratch_asked_;
    return scratch_(args);
  }
  [[nodiscard]] std::shared_ptr<BoundBody> bind(const BindArgs& args) const override {
    ++binds_;
    on_bind_(args);
    return std::make_shared<Bound>(kernel_);
  }

  [[nodiscard]] int binds() const { return binds_; }
  [[nodiscard]] int scratch_asked() const { return scratch_asked_; }

 private:
  class Bound final : public BoundBody {
   public:
    explicit Bound(const Kernel& kernel) : kernel_(kernel) {}
    void run(const KernelArgs& args) override { kernel_(args); }

   private:
    const Kernel& kernel_;
  };

  Kernel kernel_;
  Scratch scratch_;
  OnBind on_bind_;
  mutable std::atomic<int> binds_{0};
  mutable std::atomic<int> scratch_asked_{0};
};

}  // namespace dynaflow::testing
