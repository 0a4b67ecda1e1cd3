#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace dynaflow::testing {

/// What the fuzzer gives, read from the front; zeros after its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool done() const { return at_ >= size_; }
  std::uint8_t next() { return done() ? std::uint8_t{0} : data_[at_++]; }
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : next() % limit; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

/// Ends the program, as the fuzzer expects it of one that is wrong.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace dynaflow::testing
