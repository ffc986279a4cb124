// Tasks beside Boost.Asio (1.81 or later) or standalone Asio. Includes neither: include Asio first.
//
//   AsioExecutor executor(io.get_executor());           // tasks run on the io_context's threads
//   Scope scope(executor);
//   std::size_t n = co_await from_callback<std::size_t>([&](auto done) {
//     socket.async_read_some(buffer, [done](auto error, std::size_t got) mutable {
//       error ? done.fail(std::make_exception_ptr(boost::system::system_error(error))) : done(got);
//     });
//   });
//
// from_callback() is not about Asio: it awaits anything that calls back once. The task goes on
// where it was, never on the thread that calls back. It does not stop early: the operation's own
// cancel does that, for example from a StopCallback.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <genscope/internal/optimize/async/executor.h>
#include <genscope/internal/optimize/async/task.h>

namespace genscope::optimize {

// `E`: an executor of Asio's, for which `post(executor, function)` is found by its namespace. What
// it runs on must not stop while work of ours is queued.
template <class E>
class AsioExecutor final : public Executor {
 public:
  explicit AsioExecutor(E executor) : executor_(std::move(executor)) {}
  void submit(Work& work, bool = false) noexcept override {
    post(executor_, [this, &work] {
      const internal::RunningOn here(this);
      work.run(work);
    });
  }
  std::string_view name() const noexcept override { return "asio"; }

 private:
  E executor_;
};

namespace internal {

template <class T, class Start>
class FromCallback {
 public:
  using Held = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  // Given to `start`; call it, or fail(), exactly once. A copy is the same.
  class Done {
   public:
    explicit Done(FromCallback& of) noexcept : of_(&of) {}
    template <class... A>
    void operator()(A&&... value) {
      of_->value_.emplace(std::forward<A>(value)...);
      of_->resume_.go_on();
    }
    void fail(std::exception_ptr error) {
      of_->error_ = std::move(error);
      of_->resume_.go_on();
    }

   private:
    FromCallback* of_;
  };

  explicit FromCallback(Start start) : start_(std::move(start)) {}
  FromCallback(FromCallback&&) = delete;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    resume_.suspend(coroutine);
    start_(Done(*this));
  }
  T await_resume() {
    if (error_) std::rethrow_exception(std::move(error_));
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

 private:
  Start start_;
  Resume resume_;
  std::optional<Held> value_;
  std::exception_ptr error_;
};

}  // namespace internal

template <class T = void, class Start>
internal::FromCallback<T, Start> from_callback(Start start) {
  return internal::FromCallback<T, Start>(std::move(start));
}

}  // namespace genscope::optimize
