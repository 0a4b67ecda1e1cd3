#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "device/scripted_launch.h"
#include "dynaflow/device/cpu/cpu_device.h"

// Counts every allocation of the process, of any thread and through any function: operator new
// ends in malloc, which is ours here. Under a sanitizer malloc is the sanitizer's, which calls us.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DYNAFLOW_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DYNAFLOW_SANITIZED 1
#endif
#endif

namespace {

std::atomic<std::uint64_t> allocations{0};

void count_allocation() { allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

#ifdef DYNAFLOW_SANITIZED

#include <sanitizer/allocator_interface.h>

namespace {

[[maybe_unused]] const int kInstalled = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { count_allocation(); }, [](const volatile void*) {});

}  // namespace

#else

// glibc's own names for the functions that we stand in for.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* data, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(std::size_t bytes) {
  count_allocation();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  count_allocation();
  return __libc_calloc(count, bytes);
}
void* realloc(void* data, std::size_t bytes) {
  count_allocation();
  return __libc_realloc(data, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count_allocation();
  return __libc_memalign(alignment, bytes);
}
}

#endif

namespace dynaflow::testing {
namespace {

using namespace std::chrono_literals;

/// Returns when the watchdog's thread is at work: to start a thread allocates, if not in our name.
void await_watchdog(CpuDevice& device) {
  std::latch seen(1);
  const auto work = std::make_shared<ScriptedLaunch>(device, std::vector<std::string>{"compute"});
  work->add({.lane = 0, .body = [&] { seen.wait(); }});
  WatchOptions watch = watch_for(1ms);
  watch.on_stall = [&](const Diagnostic&) { seen.count_down(); };
  EXPECT_FALSE(device.launch(work, watch));
  Result<LaunchStats> next = device.launch(work, unwatched());
  while (!next && next.error().broke(kLaneLost)) next = device.launch(work, unwatched());
}

std::uint64_t allocations_of(CpuDevice& device, const std::shared_ptr<Launch>& work) {
  const WatchOptions watch = watch_for(60s);
  await_watchdog(device);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(device.launch(work, watch));
  const std::uint64_t before = allocations.load();
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(device.launch(work, watch));
  return allocations.load() - before;
}

std::shared_ptr<ScriptedLaunch> make_alternating(const CpuDevice& device, std::uint32_t lanes) {
  std::vector<std::string> names;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) names.push_back("lane" + std::to_string(lane));
  auto work = std::make_shared<ScriptedLaunch>(device, names);
  for (std::uint32_t step = 0; step < 20; ++step) {
    std::vector<std::uint32_t> after;
    if (step > 0) after.push_back(step - 1);
    work->add({.lane = step % lanes, .after = after});
  }
  return work;
}

TEST(SteadyLaunch, SeesAnAllocationWhenThereIsOne) {
  const std::uint64_t before = allocations.load();
  const auto memory = std::make_unique<std::vector<int>>(1'000);
  ASSERT_NE(memory->data(), nullptr);
  EXPECT_GT(allocations.load(), before);
}

TEST(SteadyLaunch, AllocatesNothingOnOneLane) {
  CpuDevice device;
  EXPECT_EQ(allocations_of(device, make_alternating(device, 1)), 0U);
}

TEST(SteadyLaunch, AllocatesNothingOnThreeLanes) {
  CpuDevice device;
  EXPECT_EQ(allocations_of(device, make_alternating(device, 3)), 0U);
}

TEST(SteadyLaunch, AllocatesNothingWithTheFirstLaneOnItsOwnThread) {
  CpuDevice device({FirstLane::kOwnThread});
  EXPECT_EQ(allocations_of(device, make_alternating(device, 2)), 0U);
}

}  // namespace
}  // namespace dynaflow::testing
