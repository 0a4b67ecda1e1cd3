#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/rows/state.h"

namespace dynaflow::rows {

/// Which arguments of a call its family reads; -1 for none.
struct Spots {
  int dim = -1;                    ///< a dimension or a list of them; without it, all dimensions
  int keep = -1;                   ///< whether reduced dimensions stay, as ones
  int trailing = 0;                ///< how many of the last dimensions the call mixes …
  int shape = -1;                  ///< … or the list with one entry for each of them
  int training = -1;               ///< whether statistics are taken from the batch
  int fill = -1;                   ///< what a factory fills with
  int count = -1;                  ///< how many ranks
  std::string_view equation = {};  ///< contractions, as einsum writes them
  int operand = 0;                 ///< the first operand
  int dropout = -1;                ///< the probability without which the call is not random
};

/// One call in its Capture with what is known of its inputs: all that a family may look at.
class Site {
 public:
  Site(const capture::Capture& capture, std::uint32_t call, std::span<const State> states,
       const Spots& spots)
      : capture_(capture),
        call_(capture.calls[call]),
        number_(call),
        states_(states),
        spots_(spots),
        batch_(capture.batch()) {}

  [[nodiscard]] const capture::Call& call() const { return call_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] const Spots& spots() const { return spots_; }
  [[nodiscard]] Extent batch() const { return Extent(batch_); }

  [[nodiscard]] const capture::Argument& argument(int index) const;
  [[nodiscard]] std::optional<capture::TensorId> tensor_at(int index) const;
  /// Every tensor among the arguments, in order.
  [[nodiscard]] std::vector<capture::TensorId> inputs() const;
  /// The first output that is a tensor; only for calls that have one.
  [[nodiscard]] capture::TensorId output() const;
  [[nodiscard]] bool has_output() const;

  [[nodiscard]] const State& state(capture::TensorId tensor) const { return states_[tensor.index]; }
  [[nodiscard]] const std::string& name(capture::TensorId tensor) const {
    return capture_.tensor(tensor).name;
  }
  [[nodiscard]] const std::vector<Extent>& sizes(capture::TensorId tensor) const {
    return capture_.tensor(tensor).sizes;
  }
  [[nodiscard]] const std::vector<Extent>& strides(capture::TensorId tensor) const {
    return capture_.tensor(tensor).strides;
  }
  [[nodiscard]] DType dtype(capture::TensorId tensor) const {
    return capture_.tensor(tensor).dtype;
  }
  [[nodiscard]] std::int32_t rank(capture::TensorId tensor) const {
    return static_cast<std::int32_t>(sizes(tensor).size());
  }
  [[nodiscard]] Extent size(capture::TensorId tensor, std::int32_t dim) const {
    return sizes(tensor)[static_cast<std::size_t>(dim)];
  }
  /// Elements per row and outer index along the batch's dimension.
  [[nodiscard]] Extent inner(capture::TensorId tensor) const;

  [[nodiscard]] bool has_batch(const Extent& size) const {
    return batch_.valid() && capture_.depends_on(size, batch_);
  }
  [[nodiscard]] bool has_batch(capture::TensorId tensor) const;
  /// Whether a number among the arguments, list items included, changes with the batch.
  [[nodiscard]] bool reads_batch_size() const;
  [[nodiscard]] bool reads_batch_size(const capture::Argument& argument) const;
  /// The place whose sizes fit `tensor`: its outer and inner parts are free of the batch, and no
  /// other dimension holds it.
  [[nodiscard]] bool fits(capture::TensorId tensor, const Place& place) const;
  /// The only dimension of `tensor` with the batch, as its slowest part; none if there is none.
  [[nodiscard]] std::optional<Place> natural_place(capture::TensorId tensor) const;

  /// Argument `index` as dimensions of a tensor of `rank`, counted from 0; all when it is absent.
  [[nodiscard]] std::vector<std::int32_t> dims(int index, std::int32_t rank) const;
  [[nodiscard]] std::optional<std::int32_t> dim(int index, std::int32_t rank) const;

 private:
  const capture::Capture& capture_;
  const capture::Call& call_;
  std::uint32_t number_;
  std::span<const State> states_;
  const Spots& spots_;
  SymbolId batch_;
};

/// The same state for every output.
[[nodiscard]] Outcome row_wise(const Site& site, const State& state);
[[nodiscard]] Outcome row_wise(const Site& site, const Place& place);
/// A sum over the batch's rows.
[[nodiscard]] Outcome summed(const Site& site);
/// All rows at once, and the results' rows are no longer the batch's.
[[nodiscard]] Outcome merged(const Site& site, std::string reason);
/// All rows at once, but row i of the results is still row i of the batch.
[[nodiscard]] Outcome merged_in_place(const Site& site, const Place& place, std::string reason);

/// How several tensors share the batch when they are broadcast against `sizes`.
struct Alignment {
  std::optional<Place> place = {};  ///< in `sizes`; none where none is split
  std::string clash = {};           ///< why they do not share it
};
/// Whether `tensor`, broadcast against `sizes`, has its rows at `place` there, or is whole and the
/// same for all rows.
[[nodiscard]] bool joins(const Site& site, capture::TensorId tensor,
                         const std::vector<Extent>& sizes, const Place& place);
[[nodiscard]] Alignment align(const Site& site, std::span<const capture::TensorId> tensors,
                              const std::vector<Extent>& sizes);

}  // namespace dynaflow::rows
