// A map of few elements, in the order of its keys, as a sorted vector: passes visit all of them far
// more often than one is added. Unlike std::map, adding or removing moves the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace reveza::scheduler {

template <typename Key, typename Value>
class FlatMap {
 public:
  using Element = std::pair<Key, Value>;
  using iterator = typename std::vector<Element>::iterator;
  using const_iterator = typename std::vector<Element>::const_iterator;

  iterator begin() { return elements_.begin(); }
  iterator end() { return elements_.end(); }
  const_iterator begin() const { return elements_.begin(); }
  const_iterator end() const { return elements_.end(); }
  bool empty() const { return elements_.empty(); }
  std::size_t size() const { return elements_.size(); }

  iterator find(const Key& key) { return Find(*this, key); }
  const_iterator find(const Key& key) const { return Find(*this, key); }
  bool contains(const Key& key) const { return find(key) != end(); }
  // Throws std::out_of_range: a bug.
  Value& at(const Key& key) { return At(*this, key); }
  const Value& at(const Key& key) const { return At(*this, key); }

  // Returns the element, and whether it was added.
  std::pair<iterator, bool> try_emplace(const Key& key) {
    const auto place = LowerBound(*this, key);
    if (place != end() && place->first == key) return {place, false};
    return {elements_.emplace(place, key, Value()), true};
  }
  Value& operator[](const Key& key) { return try_emplace(key).first->second; }
  void erase(const Key& key) {
    const auto place = find(key);
    if (place != end()) elements_.erase(place);
  }
  void clear() { elements_.clear(); }

 private:
  template <typename Self>
  static auto LowerBound(Self& self, const Key& key) {
    return std::ranges::lower_bound(self.elements_, key, {}, &Element::first);
  }
  template <typename Self>
  static auto Find(Self& self, const Key& key) {
    // Most maps have one element, and most keys are numbers without gaps, from 0 on.
    if (!self.empty() && self.elements_.front().first == key) return self.begin();
    if (key < self.elements_.size() && self.elements_[key].first == key) {
      return self.elements_.begin() + static_cast<std::ptrdiff_t>(key);
    }
    const auto place = LowerBound(self, key);
    return place != self.end() && place->first == key ? place : self.end();
  }
  template <typename Self>
  static auto& At(Self& self, const Key& key) {
    const auto place = Find(self, key);
    if (place == self.end()) throw std::out_of_range("FlatMap::at");
    return place->second;
  }

  std::vector<Element> elements_;
};

}  // namespace reveza::scheduler
