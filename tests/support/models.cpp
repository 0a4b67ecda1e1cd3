#include "support/models.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "dynaflow/device/cpu/cpu_device.h"

namespace dynaflow::testing {
namespace {

std::uint64_t bits(std::int64_t number) { return static_cast<std::uint64_t>(number); }

/// One number of a view, whose only row stands for all where it has none.
std::int64_t number_at(const View& view, std::int64_t row, std::size_t column) {
  const auto numbers = view.row<std::int64_t>(std::min(row, view.rows - 1));
  return numbers[column % numbers.size()];
}

void mix_row(const KernelArgs& args, const View& out, std::int64_t row, std::uint64_t salt) {
  const auto numbers = out.row<std::int64_t>(row);
  for (std::size_t column = 0; column < numbers.size(); ++column) {
    std::uint64_t mixed = salt + column;
    for (std::size_t i = 0; i < args.reads; ++i) {
      mixed = mixed * 31 + bits(number_at(args.in(i), row, column));
    }
    numbers[column] = static_cast<std::int64_t>(mixed);
  }
}

void add_rows(const View& in, std::span<std::int64_t> sums) {
  for (std::int64_t row = 0; row < in.rows; ++row) {
    for (std::size_t column = 0; column < sums.size(); ++column) {
      sums[column] =
          static_cast<std::int64_t>(bits(sums[column]) + bits(in.row<std::int64_t>(row)[column]));
    }
  }
}

void sample(const KernelArgs& args) {
  const View& out = args.allocate(0, args.rows.count * kColumns);
  for (std::int64_t row = 0; row < args.rows.count; ++row) {
    const auto from = args.in(0).row<std::int64_t>(row);
    for (std::size_t column = 0; column < from.size(); ++column) {
      out.row<std::int64_t>(0)[bits(row * kColumns) + column] = from[column] * 3;
    }
  }
}

void gather(const KernelArgs& args) {
  for (std::int64_t row = 0; row < args.rows.count; ++row) {
    const auto to = args.out(0).row<std::int64_t>(row);
    for (std::size_t column = 0; column < to.size(); ++column) {
      to[column] = args.in(0).row<std::int64_t>(0)[bits(row * kColumns) + column] + 1;
    }
  }
}

}  // namespace

Kernel mix(std::uint64_t salt) {
  return [salt](const KernelArgs& args) {
    for (std::size_t i = 0; args.reads + i < args.views.size(); ++i) {
      const View& out = args.out(i);
      for (std::int64_t row = 0; row < out.rows; ++row) mix_row(args, out, row, salt + i);
    }
  };
}

void sum_rows(const KernelArgs& args) {
  const auto sums = args.out(0).row<std::int64_t>(0);
  if (args.out(0).sum == PartialSum::kStart) std::ranges::fill(sums, 0);
  add_rows(args.in(0), sums);
}

void mean_rows(const KernelArgs& args) {
  const auto sums = args.out(0).row<std::int64_t>(0);
  std::ranges::fill(sums, 0);
  add_rows(args.in(0), sums);
}

void never(const KernelArgs&) { throw std::logic_error("this op must not run"); }

Model three_in_a_row() {
  GraphBuilder builder("three_in_a_row");
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  const ValueId v = builder.value("v", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "first", .reads = {x}, .writes = {u}, .kernel = mix(1)});
  builder.op({.name = "second", .reads = {u}, .writes = {v}, .kernel = mix(2)});
  builder.op({.name = "third", .reads = {v}, .writes = {y}, .kernel = mix(3)});
  builder.output(y);
  return {builder.build().value(), x, y};
}

Model two_branches() {
  GraphBuilder builder("two_branches");
  const ValueId x = builder.input("x", kRow);
  const ValueId l = builder.value("l", kRow);
  const ValueId r = builder.value("r", kRow);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "left", .reads = {x}, .writes = {l}, .kernel = mix(1)});
  builder.op({.name = "right", .reads = {x}, .writes = {r}, .kernel = mix(2)});
  builder.op({.name = "join", .reads = {l, r}, .writes = {y}, .kernel = mix(3)});
  builder.output(y);
  return {builder.build().value(), x, y};
}

Model with_mean() {
  GraphBuilder builder("with_mean");
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  const ValueId m = builder.value("m", kTable);
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "pre", .reads = {x}, .writes = {u}, .kernel = mix(1)});
  builder.op({.name = "mean",
              .reads = {u},
              .writes = {m},
              .coupling = Coupling::kCoupled,
              .kernel = mean_rows});
  builder.op({.name = "scale", .reads = {u, m}, .writes = {y}, .kernel = mix(2)});
  builder.output(y);
  return {builder.build().value(), x, y};
}

Model with_sum() {
  GraphBuilder builder("with_sum");
  const ValueId x = builder.input("x", kRow);
  const ValueId u = builder.value("u", kRow);
  const ValueId s = builder.value("s", {Kind::kPartial, DType::kI64, kColumns});
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "pre", .reads = {x}, .writes = {u}, .kernel = mix(1)});
  builder.op({.name = "sum", .reads = {u}, .writes = {s}, .kernel = sum_rows});
  builder.op({.name = "use", .reads = {u, s}, .writes = {y}, .kernel = mix(2)});
  builder.output(y);
  return {builder.build().value(), x, y};
}

Model two_layers() {
  GraphBuilder builder("two_layers");
  const ValueId x = builder.input("x", kRow);
  ValueId in = x;
  for (int layer = 0; layer < 2; ++layer) {
    const std::string at = std::to_string(layer);
    const ValueId a = builder.value("a" + at, kRow);
    const ValueId r = builder.value("r" + at, kRow);
    const ValueId h = builder.value("h" + at, kRow);
    builder.op({.name = "attn" + at, .reads = {in}, .writes = {a}, .kernel = mix(1)});
    builder.op({.name = "reduce" + at,
                .reads = {a},
                .writes = {r},
                .tags = {"network"},
                .cost = CostClass::kNetwork,
                .group = "tp",
                .kernel = mix(2)});
    builder.op({.name = "mlp" + at, .reads = {r}, .writes = {h}, .kernel = mix(3)});
    in = h;
  }
  builder.output(in);
  return {builder.build().value(), x, in};
}

Model with_unplaced() {
  GraphBuilder builder("with_unplaced");
  const ValueId x = builder.input("x", kRow);
  const ValueId k = builder.value({"k", kRow, ValueSpec::Size::kUnplaced});
  const ValueId y = builder.value("y", kRow);
  builder.op({.name = "sample", .reads = {x}, .writes = {k}, .kernel = sample});
  builder.op({.name = "gather", .reads = {k}, .writes = {y}, .kernel = gather});
  builder.output(y);
  return {builder.build().value(), x, y};
}

std::vector<std::int64_t> input_for(std::int64_t rows) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows * kColumns));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::int64_t>(i * i + 7 * i + 1);
  }
  return numbers;
}

std::size_t output_size(const Model& model, std::int64_t rows) {
  const Type& type = model.graph.value(model.y).type;
  return static_cast<std::size_t>(type.elements.constant() * (type.has_rows() ? rows : 1));
}

Result<std::vector<std::int64_t>> run_once(CompiledGraph& compiled, const Model& model,
                                           const Batch& batch) {
  const std::vector<std::int64_t> x = input_for(batch.rows);
  std::vector<std::int64_t> y(output_size(model, batch.rows), -1);
  const Binding bindings[] = {bind(model.x, x), bind(model.y, y)};
  const auto stats = compiled.run(batch, bindings);
  if (!stats) return Unexpected(stats.error());
  return y;
}

Result<std::vector<std::int64_t>> output_of(const Model& model,
                                            std::shared_ptr<const OpScheduler> strategy,
                                            const Batch& batch) {
  CpuDevice cpu;
  CompiledGraph compiled(model.graph, std::move(strategy), cpu);
  return run_once(compiled, model, batch);
}

std::vector<std::int64_t> plain_output(const Model& model, const Batch& batch) {
  return output_of(model, std::make_shared<Sequential>(), batch).value();
}

}  // namespace dynaflow::testing
