#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dynaflow {

/// Which of several programs is fastest on a machine whose speed varies: all of them run in rounds,
/// one after the other, and are compared within a round. Who is surely slower than the one that
/// leads drops out, so that the rest can run more often.
class Race {
 public:
  explicit Race(std::size_t runners);

  [[nodiscard]] std::size_t runners() const { return taken_.size(); }
  /// Who still runs.
  [[nodiscard]] const std::vector<std::size_t>& left() const { return left_; }
  /// One round: what each of `left()` took, in that order.
  void add(std::span<const std::int64_t> taken_ns);
  /// How many rounds there were.
  [[nodiscard]] std::size_t rounds() const { return rounds_; }

  /// Of those left, the one that typically takes the shortest time.
  [[nodiscard]] std::size_t leader() const;
  /// What this one typically takes of a round, times what a round typically takes; a round is what
  /// those left took together. So neither an outlier counts, nor, for whoever dropped out, how fast
  /// the machine was until then. No round yet: 0.
  [[nodiscard]] std::int64_t taken_ns(std::size_t runner) const;

 private:
  [[nodiscard]] std::vector<double> left_in_rounds() const;
  [[nodiscard]] bool is_surely_slower(std::size_t runner, std::size_t than) const;

  std::vector<std::vector<std::int64_t>> taken_;  ///< per runner, by round
  std::vector<std::size_t> left_;
  std::size_t rounds_ = 0;
};

}  // namespace dynaflow
