// Who goes next. A pure state machine: no lock, no clock; the time is an argument.
//
// Order: the most urgent class first; a class rises by one for each `aging_ns` that its oldest
// waiter has waited, so that none starves; equals go by who reached that class first. Within a
// class the tenants take turns by deficit round robin in units of cost; within a tenant, first come
// first served.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace genscope::optimize::internal {

struct Queued {
  int priority = 0;
  const std::string* tenant = nullptr;
  double cost = 1;
  std::int64_t since_ns = 0;

  // The queue's own.
  struct Tenant* of = nullptr;
  Queued *older = nullptr, *newer = nullptr;  // in the class, by arrival
  Queued *before_in_tenant = nullptr, *after_in_tenant = nullptr;
  bool in_queue = false;
};

struct Tenant {
  double deficit = 0, weight = 1;
  bool had_turn = false;  // got its quantum for the turn that it has now
  Queued *first = nullptr, *last = nullptr;
  std::map<std::string, Tenant>::iterator self;
};

class FairQueue {
 public:
  explicit FairQueue(std::int64_t aging_ns = 0) noexcept : aging_ns_(aging_ns) {}

  void push(Queued& item);
  void remove(Queued& item) noexcept;
  // The one that is next; null: empty. Stays until remove() or pop().
  Queued* peek(std::int64_t now_ns);
  // Takes what peek() gave last.
  void pop(Queued& item) noexcept;
  std::size_t size() const noexcept { return size_; }
  void set_weight(const std::string& tenant, double weight) { weights_[tenant] = weight; }
  // The oldest waiter of all; null: empty.
  Queued* oldest() const noexcept;

 private:
  static constexpr int kClasses = 8;
  struct Class {
    std::map<std::string, Tenant> tenants;  // those that wait
    std::deque<Tenant*> turns;
    Queued *oldest = nullptr, *newest = nullptr;
  };
  Queued* next_in(Class& waiting);
  static void unlink(Class& waiting, Queued& item) noexcept;

  std::int64_t aging_ns_;
  std::size_t size_ = 0;
  std::array<Class, kClasses> classes_;
  std::map<std::string, double> weights_;
};

}  // namespace genscope::optimize::internal
