// Batches by the step: a request joins a denoising loop that is under way, at its next step.
//
//   genscope::optimize::StepBatcher<Prompt, Picture, Image> batcher(
//       {.begin = [&](Prompt& prompt) -> Tried<std::unique_ptr<Picture>> { return begun(prompt); },
//        .step = [&](std::span<Picture* const> pictures) -> std::optional<Failed> { ... },
//        .left = [](const Picture& picture) { return picture.steps_left(); },
//        .finish = [&](Picture& picture) -> Tried<Image> { return decoded(picture); }},
//       {.most = 8});
//   std::future<Tried<Image>> image = batcher.submit("1024x1024", prompt);
//
// For engines whose loop is theirs to drive, and whose step can hold requests that are at different
// steps. A Batcher (batch.h) makes who comes late wait for the end of the whole batch; here it
// waits for the end of a step. Requests of one key run together; it learns what a step costs, a + c
// * b, and lets a second one join only if two at once are at least 1.15 times as fast.
//
// No request joins where that would make one that runs miss its deadline. If requests of another
// key wait for `hold_seconds`, nobody joins any more, and their turn comes when the loop is empty.
//
// If a step fails, each of its requests begins again, alone: only those that fail by themselves
// fail.
//
// Threads: a StepBatcher has one of its own, which calls the four functions; answers are given
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/internal/optimize/batch_cores.h>
#include <genscope/optimize/batch.h>

namespace genscope::optimize {

struct StepOptions {
  std::string name = "steps";
  std::size_t most = 8;                // requests in a step
  double least_gain = 1.15;            // of two at once; below, requests run one after the other
  double hold_seconds = 1;             // that requests of another key wait before nobody joins
  std::size_t look_again_every = 256;  // steps, where batches do not pay; 0: never
  std::size_t most_waiting = 10'000;   // further requests are rejected
};

// In: a request. State: one that is being made. Out: its result.
template <class In, class State, class Out>
class StepBatcher {
 public:
  struct Engine {
    std::function<Tried<std::unique_ptr<State>>(In&)> begin;
    std::function<std::optional<Failed>(std::span<State* const>)> step;  // one step of each
    std::function<std::size_t(const State&)> left;                       // steps; 0: it is done
    std::function<Tried<Out>(State&)> finish;
  };

  explicit StepBatcher(Engine engine, StepOptions options = {})
      : engine_(std::make_shared<const Engine>(std::move(engine))),
        core_([shared = engine_](auto items) { return step_items(*shared, items); },
              std::move(options)) {}

  std::future<Tried<Out>> submit(std::string_view key, In input,
                                 const SubmitOptions& options = {}) {
    auto item = std::make_unique<Item>(engine_, std::move(input));
    std::future<Tried<Out>> future = item->promise.get_future();
    core_.submit(key, options, std::move(item));
    return future;
  }
  // Runs what waits, then ends; later requests are rejected. The destructor runs what has begun and
  // answers what waits with `cancelled`.
  void drain() { core_.drain(); }
  std::uint64_t steps() const noexcept { return core_.steps(); }
  // The requests of each step, added up: divided by steps() it is the mean batch.
  std::uint64_t requests_in_steps() const noexcept { return core_.requests_in_steps(); }

 private:
  struct Item final : internal::StepItem {
    Item(std::shared_ptr<const Engine> given, In asked)
        : engine(std::move(given)), input(std::move(asked)) {}
    std::optional<Failed> begin() override {
      state.reset();
      Tried<std::unique_ptr<State>> made = engine->begin(input);
      if (!made.ok()) return made.failure();
      state = std::move(made.value());
      return std::nullopt;
    }
    std::size_t left() const override { return engine->left(*state); }
    void answer() override { promise.set_value(engine->finish(*state)); }
    void fail(const Failed& failure) override { promise.set_value(Tried<Out>(failure)); }
    std::shared_ptr<const Engine> engine;
    In input;
    std::unique_ptr<State> state;
    std::promise<Tried<Out>> promise;
  };
  static std::optional<Failed> step_items(const Engine& engine,
                                          std::span<internal::StepItem* const> items) {
    std::vector<State*> states;
    states.reserve(items.size());
    for (internal::StepItem* item : items) states.push_back(static_cast<Item*>(item)->state.get());
    return engine.step(states);
  }
  std::shared_ptr<const Engine> engine_;
  internal::StepCore core_;
};

}  // namespace genscope::optimize
