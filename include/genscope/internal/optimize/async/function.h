// A function that is called once or more and need not be copyable: what queues carry.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace genscope::optimize {

template <class Signature>
class UniqueFunction;

// Up to 48 bytes live inside; more are allocated. Calling an empty one is undefined.
template <class R, class... A>
class UniqueFunction<R(A...)> {
 public:
  UniqueFunction() = default;
  UniqueFunction(std::nullptr_t) noexcept {}  // NOLINT(implicit)
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> &&
           std::is_invocable_r_v<R, std::remove_cvref_t<F>&, A...>)
      UniqueFunction(F&& function) {  // NOLINT(implicit)
    using Held = std::remove_cvref_t<F>;
    if constexpr (sizeof(Held) <= sizeof space_ && alignof(Held) <= alignof(std::max_align_t) &&
                  std::is_nothrow_move_constructible_v<Held>) {
      ::new (static_cast<void*>(space_)) Held(std::forward<F>(function));
      table_ = &kTable<Held, false>;
    } else {
      ::new (static_cast<void*>(space_)) Held*(new Held(std::forward<F>(function)));
      table_ = &kTable<Held, true>;
    }
  }
  UniqueFunction(UniqueFunction&& other) noexcept { take(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~UniqueFunction() { reset(); }

  explicit operator bool() const noexcept { return table_ != nullptr; }
  R operator()(A... args) { return table_->call(space_, std::forward<A>(args)...); }
  void reset() noexcept {
    if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(space_);
  }

 private:
  struct Table {
    R (*call)(void*, A&&...);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };
  template <class Held, bool kApart>
  static Held& held(void* space) noexcept {
    if constexpr (kApart) {
      return **static_cast<Held**>(space);
    } else {
      return *static_cast<Held*>(space);
    }
  }
  template <class Held, bool kApart>
  static constexpr Table kTable = {
      [](void* space, A&&... args) -> R {
        return static_cast<R>(held<Held, kApart>(space)(std::forward<A>(args)...));
      },
      [](void* from, void* to) noexcept {
        if constexpr (kApart) {
          ::new (to) Held*(*static_cast<Held**>(from));
        } else {
          ::new (to) Held(std::move(held<Held, false>(from)));
          held<Held, false>(from).~Held();
        }
      },
      [](void* space) noexcept {
        if constexpr (kApart) {
          delete *static_cast<Held**>(space);
        } else {
          held<Held, false>(space).~Held();
        }
      }};

  void take(UniqueFunction& other) noexcept {
    if (other.table_ == nullptr) return;
    table_ = std::exchange(other.table_, nullptr);
    table_->move(other.space_, space_);
  }

  const Table* table_ = nullptr;
  alignas(std::max_align_t) std::byte space_[48];
};

}  // namespace genscope::optimize
