// ThreadOwned: a T of each thread that asks for one, freed as its thread ends.
//
// As a thread_local T, but without memory there is none: glibc ends the process where it cannot
// register a destructor. That of the main thread is not freed.
#pragma once

#include <pthread.h>

#include <new>

namespace genscope::base {

template <class T>
class ThreadOwned {
 public:
  // Of the calling thread; null without memory.
  static T* get() noexcept {
    if (t_value_ == nullptr) [[unlikely]]
      make();
    return t_value_;
  }

 private:
  struct Key {
    pthread_key_t key{};
    bool made = pthread_key_create(&key, [](void* value) {
                  delete static_cast<T*>(value);
                  t_value_ = nullptr;
                }) == 0;
  };
  [[gnu::noinline]] static void make() noexcept {
    static const Key key;
    T* const value = key.made ? new (std::nothrow) T : nullptr;
    if (value == nullptr) return;
    if (pthread_setspecific(key.key, value) == 0) {
      t_value_ = value;
    } else {
      delete value;
    }
  }

  static inline constinit thread_local T* t_value_ = nullptr;
};

}  // namespace genscope::base
