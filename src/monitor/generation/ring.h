// The last N of something.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace genscope::monitor {

template <class T>
class Ring {
 public:
  explicit Ring(std::size_t limit) : limit_(limit) {}

  void push(T value) {
    if (limit_ == 0) return;
    if (items_.size() < limit_) {
      items_.push_back(std::move(value));
      return;
    }
    items_[oldest_] = std::move(value);
    oldest_ = (oldest_ + 1) % limit_;
  }
  std::size_t size() const noexcept { return items_.size(); }
  void clear() noexcept {
    items_.clear();
    oldest_ = 0;
  }
  // Without a copy, in no order.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const T& item : items_) visit(item);
  }
  // Oldest first.
  std::vector<T> items() const {
    std::vector<T> out;
    out.reserve(items_.size());
    for (std::size_t i = 0; i < items_.size(); ++i) {
      out.push_back(items_[(oldest_ + i) % items_.size()]);
    }
    return out;
  }

 private:
  std::size_t limit_;
  std::size_t oldest_ = 0;
  std::vector<T> items_;
};

}  // namespace genscope::monitor
