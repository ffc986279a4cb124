// The parts of Batcher (optimize/batch.h) and StepBatcher (optimize/step_batch.h) that know no
// types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <genscope/optimize/retry.h>

namespace genscope::optimize {

struct BatchOptions;
struct StepOptions;
struct SubmitOptions;
class BatchQueue;

namespace internal {

// One request of a Batcher. The batcher answers each once.
struct BatchItem {
  virtual ~BatchItem() = default;
  virtual void fail(const Failed& failure) = 0;
  virtual void answer() = 0;  // with the value that the run left in it
};

// The part of Batcher that knows no types.
class BatcherCore {
 public:
  // Fills the items, or says why not.
  using Run = std::function<std::optional<Failed>(std::span<BatchItem* const>)>;
  BatcherCore(Run run, BatchOptions options);
  ~BatcherCore();
  void submit(std::string_view key, const SubmitOptions& options, std::unique_ptr<BatchItem> item);
  void drain();
  BatchQueue& queue() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct StepItem {
  virtual ~StepItem() = default;
  virtual std::optional<Failed> begin() = 0;  // from the start, also the second time
  virtual std::size_t left() const = 0;
  virtual void answer() = 0;  // finishes it
  virtual void fail(const Failed& failure) = 0;
};

class StepCore {
 public:
  using Step = std::function<std::optional<Failed>(std::span<StepItem* const>)>;
  StepCore(Step step, StepOptions options);
  ~StepCore();
  void submit(std::string_view key, const SubmitOptions& options, std::unique_ptr<StepItem> item);
  void drain();
  std::uint64_t steps() const noexcept;
  std::uint64_t requests_in_steps() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace internal
}  // namespace genscope::optimize
