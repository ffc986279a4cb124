#include "inspect/read/torch/pickle.h"

#include <algorithm>

#include "inspect/read/byte_source.h"

namespace genscope::inspect {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

}  // namespace

bool Pickle::fail(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
  return false;
}

std::uint64_t Pickle::used() const noexcept {
  return stack_.size() + marks_.size() + memo_.size() + tuple_items_.size() + 2 * dict_items_ +
         2 * dicts_.size() + 6 * tensors_.size();
}

std::string_view Pickle::text(const Value& value) const noexcept {
  return value.kind == Kind::text ? bytes_.substr(value.at, value.size) : std::string_view();
}

bool Pickle::push(Value value) {
  if (used() >= budget_) return fail("the pickle builds more values than its length explains");
  stack_.push_back(value);
  return true;
}

bool Pickle::pop(Value& value) {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
    return fail("the pickle takes a value that is not there");
  }
  value = stack_.back();
  stack_.pop_back();
  return true;
}

bool Pickle::pop_mark(std::size_t& from) {
  if (marks_.empty()) return fail("the pickle lacks a mark");
  from = marks_.back();
  marks_.pop_back();
  return true;
}

bool Pickle::push_tuple(std::size_t count) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() - floor < count) return fail("the pickle takes a value that is not there");
  const std::size_t from = stack_.size() - count;
  const Value tuple{tuple_items_.size(), static_cast<std::uint32_t>(count), Kind::tuple};
  tuple_items_.insert(tuple_items_.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from),
                      stack_.end());
  stack_.resize(from);
  return push(tuple);
}

const Value* Pickle::item(const Value& tuple, std::size_t i) const noexcept {
  return tuple.kind == Kind::tuple && i < tuple.size ? &tuple_items_[tuple.at + i] : nullptr;
}

bool Pickle::push_dict() {
  dicts_.emplace_back();
  return push({dicts_.size() - 1, 0, Kind::dict});
}

bool Pickle::put(std::uint64_t index) {
  if (stack_.empty()) return fail("the pickle remembers a value that is not there");
  if (index >= memo_.size()) {
    // Subtracted, not added: a sum with an index of 2^64-1 would wrap.
    if (used() >= budget_ || index - memo_.size() >= budget_ - used()) {
      return fail("the pickle remembers more values than its length explains");
    }
    memo_.resize(index + 1, {0, 0, Kind::absent});
  }
  if (memo_[index].kind == Kind::absent) ++memo_count_;
  memo_[index] = stack_.back();
  return true;
}

bool Pickle::get(std::uint64_t index) {
  if (index >= memo_.size() || memo_[index].kind == Kind::absent) {
    return fail("the pickle recalls a value that it did not remember");
  }
  return push(memo_[index]);
}

// Key and value alternate above `from`; the dict is below.
bool Pickle::set_items(std::size_t from) {
  const std::size_t count = stack_.size() - from;
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (from <= floor || count % 2 != 0) return fail("the pickle sets items of no dict");
  const Value target = stack_[from - 1];
  if (target.kind == Kind::dict) {
    for (std::size_t i = from; i < stack_.size(); i += 2) {
      if (stack_[i].kind != Kind::text) continue;
      dicts_[target.at].push_back({text(stack_[i]), stack_[i + 1]});
      ++dict_items_;
    }
  }
  stack_.resize(from);
  return true;
}

bool Pickle::push_global(std::string_view module, std::string_view name) {
  const Global global = find_global(module, name);
  if (global.role == Role::foreign || global.role == Role::dangerous) {
    constexpr std::size_t kListed = 16;
    std::string full = std::string(module) + "." + std::string(name);
    const bool known = std::ranges::find(foreign_, full, &Foreign::name) != foreign_.end();
    if (!known && foreign_.size() < kListed)
      foreign_.push_back({std::move(full), global.role});
    else if (!known)
      ++more_foreign_;
  }
  return push({static_cast<std::uint64_t>(global.role), static_cast<std::uint32_t>(global.dtype),
               Kind::global});
}

void Pickle::report(std::string_view where, std::vector<std::string>& notes) const {
  for (const Foreign& foreign : foreign_) {
    std::string note = "safety: ";
    note.append(where).append(" names ").append(shown(foreign.name));
    notes.push_back(note + (foreign.role == Role::dangerous
                                ? ", which can run commands when the file is loaded; it was not "
                                  "run. Do not load this file"
                                : ", which is no part of torch's weights; it was not run"));
  }
  if (more_foreign_ > 0) {
    notes.push_back("safety: " + std::to_string(more_foreign_) + " more such names");
  }
}

}  // namespace genscope::inspect
