#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace dynaflow {

/// The `capacity` entries used last, at least one. A hit allocates nothing. Not thread-safe.
template <class Key, class Value>
class LruCache {
 public:
  explicit LruCache(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

  /// Null if there is none; valid until the next `put`.
  [[nodiscard]] Value* find(const Key& key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return &entries_.front().second;
  }

  Value& put(const Key& key, Value value) {
    if (Value* known = find(key)) return *known = std::move(value);
    if (entries_.size() == capacity_) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(key, std::move(value));
    index_[key] = entries_.begin();
    return entries_.front().second;
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::size_t capacity_;
  std::list<std::pair<Key, Value>> entries_;  ///< newest first
  std::map<Key, typename std::list<std::pair<Key, Value>>::iterator> index_;
};

}  // namespace dynaflow
