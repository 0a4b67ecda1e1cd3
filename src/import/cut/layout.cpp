#include "import/cut/layout.h"

#include <algorithm>
#include <numeric>

namespace dynaflow::cut {
namespace {

using capture::Capture;
using capture::Tensor;

/// Sizes with which strides can be told apart: large and different.
std::vector<std::int64_t> sample_sizes(const Capture& capture) {
  std::vector<std::int64_t> values;
  values.reserve(capture.symbols.size());
  for (std::size_t i = 0; i < capture.symbols.size(); ++i) {
    values.push_back(static_cast<std::int64_t>(1009 + 34 * i));
  }
  capture.complete(values);
  return values;
}

bool is_one(const Extent& size) { return size == Extent(1); }

/// The strides of a tensor without gaps whose dimensions lie in this order.
std::vector<Extent> dense_strides(const Tensor& tensor, const std::vector<std::size_t>& order) {
  std::vector<Extent> strides(tensor.sizes.size());
  Extent next = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= tensor.sizes[order[i]];
  }
  return strides;
}

/// Where a dimension has one element, its stride means nothing.
bool same_memory(const Tensor& tensor, const std::vector<Extent>& strides) {
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (!is_one(tensor.sizes[d]) && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

}  // namespace

std::vector<std::size_t> memory_order(const Capture& capture, const Tensor& tensor) {
  const std::vector<std::int64_t> sizes = sample_sizes(capture);
  std::vector<std::size_t> order(tensor.sizes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t d) { return tensor.strides[d].evaluate(sizes); });
  return order;
}

Layout layout_of(const rows::Rows& rows, capture::TensorId id) {
  const Tensor& tensor = rows.capture.tensor(id);
  Layout layout;
  std::vector<std::size_t> order = memory_order(rows.capture, tensor);
  layout.strides = dense_strides(tensor, order);
  if (!same_memory(tensor, layout.strides)) {
    std::ranges::sort(order);
    layout.strides = dense_strides(tensor, order);
    layout.fit = Layout::Fit::kCopied;
  }
  layout.elements = 1;
  for (const Extent& size : tensor.sizes) layout.elements *= size;

  const rows::Carry& carry = rows.tensors[id.index];
  if (carry.kind != rows::Carry::Kind::kSplit) return layout;
  layout.elements = layout.elements.divided_by(rows.capture.batch()).value_or(layout.elements);
  layout.blocks = carry.outer;
  for (const std::size_t d : order) {
    if (d == static_cast<std::size_t>(carry.dim)) break;
    layout.blocks *= tensor.sizes[d];
  }
  return layout;
}

}  // namespace dynaflow::cut
