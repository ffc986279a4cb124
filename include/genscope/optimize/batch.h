// Batches: several requests in one call of the model, where that pays.
//
//   genscope::optimize::Batcher<Prompt, Image> batcher(
//       [&](std::span<Prompt* const> prompts) -> Tried<std::vector<Image>> { return pipe(prompts);
//       },
//       {.most = 8, .max_delay_seconds = 0.02});
//   std::future<Tried<Image>> image = batcher.submit("sdxl 1024x1024 bf16", prompt,
//                                                    {.deadline_ns = deadline});
//
// It learns for each key what a batch costs, a + c * b, and batches only if two at once are at
// least 1.15 times as fast as one after the other. It never waits past a deadline. If a batch
// fails, its halves are tried apart, until only the requests that fail by themselves have failed.
//
// `optimal_batch` looks for the largest batch that fits, with few tries and fewer that run out of
// memory.
//
// Threads: a Batcher and a BatchQueue may be used from any thread. A Batcher has one thread of its
// own, which calls the function; answers are given there.
//
// Counters of a run while one is recorded: `NAME/batch_size`, `NAME/batch_seconds`,
// `NAME/queue_seconds` (of the oldest in a batch), `NAME/waiting`, `NAME/splits`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <genscope/internal/optimize/batch_cores.h>
#include <genscope/internal/optimize/queue_times.h>
#include <genscope/optimize/retry.h>

namespace genscope::optimize {

// What must be equal for requests to share a batch. Any text will do; this one has the usual parts.
struct CompatKey {
  std::string model = {}, component = {};
  int width = 0, height = 0, frames = 1;
  int bucket = 64;  // sizes are rounded up to a multiple of it
  std::string dtype = {};
  std::vector<std::string> loras = {};  // order does not matter
  bool guidance = true;
  int outputs = 1;
  std::string text() const;
};

// Cost of a request, to be given with it where requests of one key differ: latent tokens times
// forwards of the model.
inline double cost_units(double latent_tokens, double forwards) noexcept {
  return latent_tokens * forwards;
}

struct BatchOptions {
  std::string name = "batcher";
  std::size_t most = 8;             // requests in a batch
  double most_cost = 0;             // cost in a batch; 0: no bound
  double max_delay_seconds = 0.01;  // the longest that a request waits for others
  double least_gain = 1.15;         // of two at once; below, requests run alone
  // Of a request from its submission. A batch with one that took longer shrinks the next ones to
  // 0.9 times; without, they grow by one. 0: deadlines alone count as misses.
  double slo_seconds = 0;
  // Where batches do not pay, one of two is tried every so many runs, in case that has changed.
  // 0: never.
  std::size_t look_again_every = 256;
  std::size_t most_waiting = 10'000;  // further requests are rejected
};

struct BatchStats {
  std::uint64_t requests = 0, batches = 0;  // that were run, and in how many calls
  std::uint64_t expired = 0;                // their deadline passed while they waited
  std::uint64_t splits = 0;                 // batches that failed and were halved
  std::size_t waiting = 0, running = 0;
  std::vector<QueueTimes> queue;  // waits by `key`; 64 keys at most, then "other"
};

// Text format 0.0.4: genscope_batcher_requests_total{name="..."} and so on, and the histogram
// genscope_batcher_queue_seconds by key.
std::string prometheus_text(const BatchStats& stats, std::string_view name);

// The decisions of a batcher, for a loop of one's own: push, take, run, finish. Each request gets
// exactly one of: taken and then finished well; `failed` in a Finish; `expired` in a Take.
class BatchQueue {
 public:
  explicit BatchQueue(BatchOptions options = {});
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  // None: the queue is full, or closed.
  std::optional<std::uint64_t> push(std::string_view key, double cost, std::int64_t deadline_ns,
                                    std::int64_t now_ns);
  // Takes a waiting request out; false: it is not waiting (any more).
  bool cancel(std::uint64_t id);

  struct Take {
    std::vector<std::uint64_t> batch;    // run these; empty: nothing to run yet
    std::vector<std::uint64_t> expired;  // their deadline passed while they waited: answer these
    std::int64_t wait_until_ns = kNoDeadline;  // if the batch is empty: ask again then, or on push
    bool closed = false;                       // nothing is waiting and nothing will come
  };
  Take take(std::int64_t now_ns);
  // The same, but waits for work. `Take::closed` after close(), when all is taken.
  Take take_waiting();

  struct Finish {
    std::vector<std::uint64_t> failed;  // answer these with the failure
    std::size_t split = 0;              // these will be taken again, in smaller batches
  };
  // A batch of take() has run, for so long. A batch that failed comes back in halves.
  Finish finish(std::span<const std::uint64_t> batch, const Failed* failure, double seconds,
                std::int64_t now_ns);

  void close();                             // nothing more is pushed; what waits is still taken
  std::vector<std::uint64_t> cancel_all();  // and close: what waited
  std::size_t waiting() const;
  BatchStats stats() const;
  const BatchOptions& options() const noexcept;
  // Of a key, for reports and tests.
  std::optional<double> gain(std::string_view key, std::size_t b) const;
  double limit(std::string_view key) const;  // requests in its next batch, at most

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct SubmitOptions {
  double cost = 1;
  std::int64_t deadline_ns = kNoDeadline;
  // A request that has not begun is answered with `cancelled` when its turn comes.
  std::stop_token stop = {};
};

template <class In, class Out>
class Batcher {
 public:
  // One output for each input, in their order.
  using Run = std::function<Tried<std::vector<Out>>(std::span<In* const>)>;
  using Answer = std::function<void(Tried<Out>)>;

  explicit Batcher(Run run, BatchOptions options = {})
      : core_([run = std::move(run)](auto items) { return run_items(run, items); },
              std::move(options)) {}

  // `answer` is called once, on the batcher's thread or, if the request is rejected, on this one.
  void submit(std::string_view key, In input, const SubmitOptions& options, Answer answer) {
    core_.submit(key, options, std::make_unique<Item>(std::move(input), std::move(answer)));
  }
  std::future<Tried<Out>> submit(std::string_view key, In input,
                                 const SubmitOptions& options = {}) {
    auto promise = std::make_shared<std::promise<Tried<Out>>>();
    std::future<Tried<Out>> future = promise->get_future();
    submit(key, std::move(input), options,
           [promise](Tried<Out> out) { promise->set_value(std::move(out)); });
    return future;
  }
  // Runs what waits, then ends; later requests are rejected. The destructor does not run what
  // waits: it answers with `cancelled`.
  void drain() { core_.drain(); }
  const BatchQueue& queue() const { return core_.queue(); }
  std::string prometheus_text() const {
    return optimize::prometheus_text(queue().stats(), queue().options().name);
  }

 private:
  struct Item final : internal::BatchItem {
    Item(In given, Answer told) : input(std::move(given)), tell(std::move(told)) {}
    void fail(const Failed& failure) override { tell(Tried<Out>(failure)); }
    void answer() override { tell(Tried<Out>(std::move(*output))); }
    In input;
    std::optional<Out> output;
    Answer tell;
  };
  static std::optional<Failed> run_items(const Run& run,
                                         std::span<internal::BatchItem* const> items) {
    std::vector<In*> inputs;
    inputs.reserve(items.size());
    for (internal::BatchItem* item : items) inputs.push_back(&static_cast<Item*>(item)->input);
    Tried<std::vector<Out>> outputs = run(inputs);
    if (!outputs.ok()) return outputs.failure();
    if (outputs.value().size() != items.size()) {
      return Failed{Failure::validation,
                    "the batch function gave " + std::to_string(outputs.value().size()) +
                        " outputs for " + std::to_string(items.size()) + " inputs",
                    std::nullopt};
    }
    for (std::size_t i = 0; i < items.size(); ++i)
      static_cast<Item*>(items[i])->output.emplace(std::move(outputs.value()[i]));
    return std::nullopt;
  }
  internal::BatcherCore core_;
};

// --- the largest batch

// What one try of a batch size showed.
struct BatchProbe {
  std::size_t batch = 0;
  bool fits = false;              // false: it ran out of memory, which is a measurement
  std::optional<double> bytes;    // peak; absent: not measured
  std::optional<double> seconds;  // of the batch; absent: not measured
};

// Sizes that ran out of memory, by what decides it: "sdxl 1024x1024 bf16 driver 550".
class BatchCeilings {
 public:
  BatchCeilings();
  ~BatchCeilings();
  void ran_out(std::string_view key, std::size_t batch);  // keeps the smallest
  std::optional<std::size_t> smallest_out(std::string_view key) const;
  std::vector<std::pair<std::string, std::size_t>> all() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct BatchSearchOptions {
  std::size_t most = 1024;  // never tries more
  int most_probes = 8;
  int most_out_of_memory = 2;
  double least_gain = 0.03;  // of throughput, for a batch twice as large; less ends the search
  std::string key = {};      // under which the ceiling is remembered, in
  BatchCeilings* ceilings = nullptr;  // this; null: nowhere
};

struct BatchSearch {
  std::size_t batch = 0;                             // the advice; 0: not even one fits
  std::size_t largest_fit = 0;                       // the largest that was seen to fit
  std::optional<std::size_t> smallest_out;           // the smallest that ran out of memory
  std::optional<double> base_bytes, bytes_per_item;  // the memory model; absent: not measured
  std::vector<BatchProbe> probes;
  int out_of_memory = 0;
  std::string reason;  // why the search ended, one sentence
};

// Tries 1 and 2, fits bytes = m0 + m1 * b, goes up by the model and closes in between what fits and
// what does not. A batch whose bytes are more than 1 % above the budget does not fit either; bytes
// are noisy. `budget_bytes` 0: no model of memory, doubling alone until it runs out.
BatchSearch optimal_batch(const std::function<BatchProbe(std::size_t batch)>& probe,
                          double budget_bytes, const BatchSearchOptions& options = {});

}  // namespace genscope::optimize
