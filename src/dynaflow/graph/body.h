#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dynaflow/graph/kernel.h"

namespace dynaflow {

/// One call site's sizes, before addresses are known: the views' `data` is null. Of `rows` only the
/// count means something, since steps of equal sizes share what is bound.
struct BindArgs {
  std::span<const View> views;
  std::size_t reads = 0;
  RowRange rows;
  std::span<const std::int64_t> symbols = {};

  [[nodiscard]] const View& in(std::size_t i) const { return views[i]; }
  [[nodiscard]] const View& out(std::size_t i) const { return views[reads + i]; }
};

/// A Body made ready for one call site's sizes. Called by one lane only, one step at a time, with
/// the real addresses; it may keep what it likes between calls.
class BoundBody {
 public:
  BoundBody() = default;
  BoundBody(const BoundBody&) = delete;
  BoundBody& operator=(const BoundBody&) = delete;
  virtual ~BoundBody();

  /// May throw: the run then ends in R1.
  virtual void run(const KernelArgs& args) = 0;
};

/// What executes an op, for bodies that prepare themselves per size. Shared by equal ops, and
/// asked by any thread; keeps nothing of a call.
class Body {
 public:
  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  virtual ~Body();

  /// Memory that one step needs while it runs; it gets it from the arena. May throw, as `bind` may:
  /// the sizes are then refused by R1.
  [[nodiscard]] virtual std::int64_t scratch_bytes(const BindArgs& args) const;
  /// Called when sizes are new, never in a steady run: once for all steps of a Program that have
  /// this body, one lane and equal views. Not null.
  [[nodiscard]] virtual std::shared_ptr<BoundBody> bind(const BindArgs& args) const = 0;
  /// Whether it takes its step's turn itself before it issues its one transfer, and passes it on
  /// right after (KernelArgs::turn). If not, nothing of its group is issued while the step runs.
  [[nodiscard]] virtual bool passes_turn() const;
};

}  // namespace dynaflow
