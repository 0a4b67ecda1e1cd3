#include "dynaflow/base/lru_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace dynaflow::testing {
namespace {

using ::testing::IsNull;
using ::testing::Pointee;

using Cache = LruCache<int, std::string>;

/// A cache of two that was given 1 and then 2.
Cache one_and_two() {
  Cache cache(2);
  cache.put(1, "one");
  cache.put(2, "two");
  return cache;
}

TEST(LruCache, FindsWhatWasPut) {
  Cache cache = one_and_two();
  EXPECT_THAT(cache.find(1), Pointee(std::string("one")));
}

TEST(LruCache, FindsNothingElse) {
  Cache cache = one_and_two();
  EXPECT_THAT(cache.find(3), IsNull());
}

TEST(LruCache, ForgetsTheOldest) {
  Cache cache = one_and_two();
  cache.put(3, "three");
  EXPECT_THAT(cache.find(1), IsNull());
}

TEST(LruCache, KeepsWhatWasFoundLast) {
  Cache cache = one_and_two();
  (void)cache.find(1);
  cache.put(3, "three");
  EXPECT_THAT(cache.find(1), Pointee(std::string("one")));
}

TEST(LruCache, ForgetsWhatWasFoundLongestAgo) {
  Cache cache = one_and_two();
  (void)cache.find(1);
  cache.put(3, "three");
  EXPECT_THAT(cache.find(2), IsNull());
}

TEST(LruCache, NeverHoldsMoreThanItsCapacity) {
  Cache cache(3);
  for (int i = 0; i < 10; ++i) cache.put(i, "some");
  EXPECT_EQ(cache.size(), 3U);
}

TEST(LruCache, ReplacesTheValueOfAKnownKey) {
  Cache cache = one_and_two();
  cache.put(1, "uno");
  EXPECT_THAT(cache.find(1), Pointee(std::string("uno")));
}

TEST(LruCache, ForgetsNothingForAKnownKey) {
  Cache cache = one_and_two();
  cache.put(2, "due");
  EXPECT_THAT(cache.find(1), Pointee(std::string("one")));
}

TEST(LruCache, GivesBackWhatWasPut) {
  Cache cache = one_and_two();
  EXPECT_EQ(cache.put(3, "three"), "three");
}

TEST(LruCache, WithoutCapacityStillGivesBackWhatWasPut) {
  EXPECT_EXIT(std::exit(Cache(0).put(1, "one") == "one" ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dynaflow::testing
