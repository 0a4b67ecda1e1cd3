#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dynaflow/base/id.h"

namespace dynaflow {

/// A size that may depend on the graph's symbols: a polynomial in them with integer coefficients,
/// in one normal form, so that equal sizes are equal. Most are constants and allocate nothing.
class Extent {
 public:
  /// coefficient × a product of symbols; `factors` sorted, one that counts twice named twice.
  struct Term {
    std::int64_t coefficient = 0;
    std::vector<SymbolId> factors;

    friend bool operator==(const Term&, const Term&) = default;
  };

  /// What `evaluate` gives where the number does not fit.
  static constexpr std::int64_t kTooLarge = std::numeric_limits<std::int64_t>::max();

  constexpr Extent() = default;
  constexpr Extent(std::int64_t constant) : constant_(constant) {}  // NOLINT: a number is a size
  Extent(SymbolId symbol);                                          // NOLINT: and so is a symbol

  [[nodiscard]] bool is_constant() const { return terms_.empty(); }
  /// The part that no symbol changes: all of it, for a constant.
  [[nodiscard]] std::int64_t constant() const { return constant_; }
  /// What symbols change.
  [[nodiscard]] const std::vector<Term>& terms() const { return terms_; }
  /// The extent that times `symbol` is this one, if there is one.
  [[nodiscard]] std::optional<Extent> divided_by(SymbolId symbol) const;
  /// Whether it names no symbol from `count` on.
  [[nodiscard]] bool uses_only(std::size_t count) const;

  /// With `symbols[i]` for the symbol of index i. No allocation, and no work for a constant.
  [[nodiscard]] std::int64_t evaluate(std::span<const std::int64_t> symbols) const;

  Extent& operator+=(const Extent& other);
  Extent& operator*=(const Extent& other);
  friend Extent operator+(Extent a, const Extent& b) { return a += b; }
  friend Extent operator*(Extent a, const Extent& b) { return a *= b; }
  friend bool operator==(const Extent&, const Extent&) = default;

  friend std::string to_string(const Extent& extent, std::span<const std::string> names);

 private:
  void add(const Term& term);

  std::int64_t constant_ = 0;
  std::vector<Term> terms_;  ///< sorted by factors, no coefficient zero
};

/// "64", "8*length", "2*length*length+length+1"; a symbol without a name is "s0".
[[nodiscard]] std::string to_string(const Extent& extent, std::span<const std::string> names = {});

}  // namespace dynaflow
