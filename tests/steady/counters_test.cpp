// Stands between this program and its allocator and copy functions, and proves that it does.
#include "steady/counters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#ifdef DYNAFLOW_SANITIZED
#include <sanitizer/allocator_interface.h>
#endif

namespace {

std::atomic<bool> counting{false};
std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> frees{0};
std::atomic<std::int64_t> copied_bytes{0};

void count_allocation() {
  if (counting.load(std::memory_order_relaxed)) ++allocations;
}
void count_free() {
  if (counting.load(std::memory_order_relaxed)) ++frees;
}

}  // namespace

#ifdef DYNAFLOW_SANITIZED

namespace {

const int kHooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { count_allocation(); },
    [](const volatile void*) { count_free(); });

}  // namespace

#else

extern "C" {

// glibc's own names of what is replaced here.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);

void* malloc(std::size_t size) noexcept {
  count_allocation();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  count_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  count_allocation();
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  count_allocation();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  count_allocation();
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) noexcept {
  if (memory != nullptr) count_free();
  __libc_free(memory);
}

// Byte by byte through volatile, so that no compiler turns the loop into a call of itself.
void* memmove(void* to, const void* from, std::size_t size) noexcept {
  if (counting.load(std::memory_order_relaxed)) copied_bytes += static_cast<std::int64_t>(size);
  auto* out = static_cast<volatile unsigned char*>(to);
  const auto* in = static_cast<const volatile unsigned char*>(from);
  if (out < in) {
    for (std::size_t i = 0; i < size; ++i) out[i] = in[i];
  } else {
    for (std::size_t i = size; i > 0; --i) out[i - 1] = in[i - 1];
  }
  return to;
}
void* memcpy(void* to, const void* from, std::size_t size) noexcept {
  return memmove(to, from, size);
}

}  // extern "C"

#endif

namespace dynaflow::testing {

void start_counting() {
  allocations = 0;
  frees = 0;
  copied_bytes = 0;
  counting = true;
}

Counts stop_counting() {
  counting = false;
  return {allocations, frees, copied_bytes};
}

namespace {

/// Keeps the compiler from seeing through what is counted.
template <class T>
void use(T* value) {
  asm volatile("" : : "r"(value) : "memory");
}

TEST(Counters, StandStillWhileNothingHappens) {
  start_counting();
  EXPECT_EQ(stop_counting().allocations, 0);
}

TEST(Counters, SeeOperatorNew) {
  start_counting();
  const auto number = std::make_unique<int>(7);
  use(number.get());
  EXPECT_GE(stop_counting().allocations, 1);
}

TEST(Counters, SeeAGrowingVector) {
  std::vector<int> numbers;
  start_counting();
  numbers.push_back(1);
  use(numbers.data());
  EXPECT_GE(stop_counting().allocations, 1);
}

TEST(Counters, SeeOtherThreads) {
  std::atomic<bool> go{false};
  std::thread other([&] {
    while (!go) std::this_thread::yield();
    use(std::make_unique<int>(7).get());
  });
  start_counting();
  go = true;
  other.join();
  EXPECT_GE(stop_counting().allocations, 1);
}

TEST(Counters, SeeMalloc) {
  start_counting();
  void* memory = std::malloc(100);
  use(memory);
  const Counts counts = stop_counting();
  std::free(memory);
  EXPECT_EQ(counts.allocations, 1);
}

TEST(Counters, SeeDelete) {
  auto number = std::make_unique<int>(7);
  use(number.get());
  start_counting();
  number.reset();
  EXPECT_EQ(stop_counting().frees, 1);
}

#ifndef DYNAFLOW_SANITIZED

TEST(Counters, SeeAlignedAlloc) {
  start_counting();
  void* memory = std::aligned_alloc(64, 128);
  use(memory);
  const Counts counts = stop_counting();
  std::free(memory);
  EXPECT_EQ(counts.allocations, 1);
}

TEST(Counters, SeeMemcpy) {
  std::vector<char> from(1000, 'a');
  std::vector<char> to(1000);
  std::size_t size = from.size();
  use(&size);
  start_counting();
  std::memcpy(to.data(), from.data(), size);
  EXPECT_EQ(stop_counting().copied_bytes, 1000);
}

TEST(Counters, SeeMemmove) {
  std::vector<char> bytes(1000, 'a');
  std::size_t size = 999;
  use(&size);
  start_counting();
  std::memmove(bytes.data() + 1, bytes.data(), size);
  EXPECT_EQ(stop_counting().copied_bytes, 999);
}

TEST(Counters, SeeTheStandardLibraryCopy) {
  std::vector<long> from(500, 7);
  std::vector<long> to(500);
  use(&from);
  start_counting();
  std::copy(from.begin(), from.end(), to.begin());
  use(to.data());
  EXPECT_EQ(stop_counting().copied_bytes, std::ssize(from) * 8);
}

TEST(Counters, SeeALongStringCopy) {
  const std::string from(1000, 'a');
  start_counting();
  const std::string to = from;
  use(to.data());
  EXPECT_GE(stop_counting().copied_bytes, 1000);
}

#endif

}  // namespace
}  // namespace dynaflow::testing
