// Threads that run work: Pool for computation, BlockingPool for what waits in the kernel (files,
// model loads). A device has a Lane (lane.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <genscope/internal/optimize/async/executor.h>
#include <genscope/internal/optimize/async/function.h>

namespace genscope::optimize {

// A queue for each worker; who has nothing to do takes from the others. First in, first out on each
// queue; no order between queues. The destructor runs what is queued and joins the workers.
class Pool final : public Executor {
 public:
  explicit Pool(std::size_t workers = 0, std::string name = "pool");  // 0: one a core
  ~Pool() override;

  void submit(Work& work, bool yielding = false) noexcept override;
  std::string_view name() const noexcept override;
  std::size_t workers() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Threads are made as work comes, up to `most`; more work waits in one queue. An idle thread ends
// after 10 s. The destructor runs what is queued and joins.
class BlockingPool final : public Executor {
 public:
  explicit BlockingPool(std::size_t most = 64, std::string name = "blocking");
  ~BlockingPool() override;

  void submit(Work& work, bool yielding = false) noexcept override;
  std::string_view name() const noexcept override;
  std::size_t threads() const noexcept;  // at the moment

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Runs a function on an executor, from ordinary code.
void post(Executor& executor, UniqueFunction<void()> function);

}  // namespace genscope::optimize
