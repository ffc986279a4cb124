// Which executor runs on this thread, and the burial of what finished on it.
//
// A coroutine that ends must not free its own frame: compilers may still touch it on the way out of
// its last suspension. It is put on a list of the thread instead, and freed when the resume() that
// ran it has returned and no frame of it is on the stack.
#include <genscope/internal/optimize/async/executor.h>

namespace genscope::optimize {
namespace {

thread_local Executor* t_executor = nullptr;
thread_local internal::Finished* t_finished = nullptr;

}  // namespace

Executor* current_executor() noexcept { return t_executor; }

namespace internal {

RunningOn::RunningOn(Executor* executor) noexcept : before_(t_executor) { t_executor = executor; }
RunningOn::~RunningOn() { t_executor = before_; }

void bury_later(Finished& finished) noexcept {
  finished.next_finished_ = t_finished;
  t_finished = &finished;
}

void resume(std::coroutine_handle<> coroutine) noexcept {
  coroutine.resume();
  while (t_finished != nullptr) {
    Finished* const finished = t_finished;
    t_finished = finished->next_finished_;
    finished->bury();
  }
}

}  // namespace internal
}  // namespace genscope::optimize
