// parallel_map and parallel_stream: one function over many items, so many at once.
//
//   std::vector<Image> images = co_await parallel_map(pool, prompts, generate, {.limit = 4});
//
//   auto stream = parallel_stream(scope, prompts, generate, {.limit = 4});
//   while (auto item = co_await stream.next()) use(item->index, *item->value);
//
// `function(item)` gives a Task<R> or an R. `limit` runners take the items in turn: there are never
// more tasks than that, however many items. A stream runs ahead of its reader by `window` items at
// most. The first error stops the rest and comes out, or with collect_all each item carries its
// own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <genscope/internal/optimize/async/channel.h>
#include <genscope/internal/optimize/async/limiter.h>
#include <genscope/internal/optimize/async/scope.h>
#include <genscope/internal/optimize/async/task.h>

namespace genscope::optimize {

struct MapOptions {
  std::size_t limit = 8;   // at once
  bool ordered = true;     // of a stream: in the order of the items, else as they complete
  std::size_t window = 0;  // of a stream: items started and not read; 0: twice `limit`
  OnError on_error = OnError::stop_siblings;
};

namespace internal {

template <class R>
struct MapResult {
  using Value = R;
  static constexpr bool kTask = false;
};
template <class R>
struct MapResult<Task<R>> {
  using Value = R;
  static constexpr bool kTask = true;
};
template <class R>
using OrNothing = std::conditional_t<std::is_void_v<R>, std::monostate, R>;
template <class F, class Item>
using Mapped = MapResult<std::invoke_result_t<F&, Item&>>;
template <class F, class Item>
using MappedValue = OrNothing<typename Mapped<F, Item>::Value>;
template <class Range>
using ItemOf = std::remove_reference_t<decltype(*std::begin(std::declval<Range&>()))>;

// Stores what the function gives for one item.
template <class F, class Item, class Slot>
Task<void> map_one(F& function, Item& item, Slot& slot) {
  using Of = Mapped<F, Item>;
  if constexpr (Of::kTask && std::is_void_v<typename Of::Value>) {
    co_await function(item);
    slot.emplace();
  } else if constexpr (Of::kTask) {
    slot.emplace(co_await function(item));
  } else if constexpr (std::is_void_v<typename Of::Value>) {
    function(item);
    slot.emplace();
  } else {
    slot.emplace(function(item));
  }
}

template <class Iterator, class F, class Slot>
Task<void> map_runner(std::atomic<std::size_t>* next, Iterator items, F* function,
                      std::vector<Slot>* slots) {
  const Context context = co_await current_context();
  while (true) {
    const std::size_t index = next->fetch_add(1, std::memory_order_relaxed);
    if (index >= slots->size()) co_return;
    if (context.stop_requested()) throw Cancelled();
    auto& item = items[static_cast<std::ptrdiff_t>(index)];
    using Of = Mapped<F, std::remove_reference_t<decltype(item)>>;
    if constexpr (Of::kTask && !std::is_void_v<typename Of::Value>) {
      (*slots)[index].emplace(co_await (*function)(item));
    } else {
      co_await map_one(*function, item, (*slots)[index]);
    }
  }
}

}  // namespace internal

// The values in the order of the items. `items` has random access; it and `function` are the
// task's.
template <class Range, class F>
Task<std::vector<internal::MappedValue<F, internal::ItemOf<Range>>>> parallel_map(
    Executor& executor, Range items, F function, MapOptions options = {}) {
  using Made = internal::MappedValue<F, internal::ItemOf<Range>>;
  std::vector<std::optional<Made>> slots(static_cast<std::size_t>(std::size(items)));
  std::atomic<std::size_t> next{0};
  {
    Scope scope(executor, co_await current_context());
    const std::size_t runners = std::min(std::max<std::size_t>(1, options.limit), slots.size());
    for (std::size_t i = 0; i < runners; ++i) {
      scope.spawn(internal::map_runner(&next, std::begin(items), &function, &slots),
                  "parallel_map");
    }
    co_await scope.join();
  }
  if (std::any_of(slots.begin(), slots.end(), [](const auto& slot) { return !slot; })) {
    throw Cancelled();
  }
  std::vector<Made> values;
  values.reserve(slots.size());
  for (std::optional<Made>& slot : slots) values.push_back(std::move(*slot));
  co_return values;
}

// One item of a stream.
template <class R>
struct MapItem {
  std::size_t index = 0;
  std::optional<R> value;    // none: `error` says why
  std::exception_ptr error;  // with collect_all only
  Permit credit;             // room in the window, given back when the item is read
};

namespace internal {

template <class Items, class F, class R>
struct StreamState {
  StreamState(Items given, F what, const MapOptions& with, std::size_t window, Context under)
      : items(std::move(given)),
        function(std::move(what)),
        options(with),
        context(std::move(under)),
        done(window),
        credits(static_cast<std::int64_t>(window)) {}
  Items items;
  F function;
  MapOptions options;
  Context context;
  Channel<MapItem<R>> done;
  Limiter credits;
  std::atomic<std::size_t> next{0}, runners{0};
};

template <class Items, class F, class R>
Task<void> stream_runner(std::shared_ptr<StreamState<Items, F, R>> state) {
  const std::size_t count = static_cast<std::size_t>(std::size(state->items));
  try {
    while (true) {
      MapItem<R> item;
      item.credit = co_await state->credits.acquire();
      item.index = state->next.fetch_add(1, std::memory_order_relaxed);
      if (item.index >= count) break;
      try {
        auto& given = std::begin(state->items)[static_cast<std::ptrdiff_t>(item.index)];
        co_await map_one(state->function, given, item.value);
      } catch (...) {
        item.error = std::current_exception();
      }
      if (!co_await state->done.send(std::move(item))) break;
    }
  } catch (const Stopped&) {
    // The reader has left, or the context was stopped: next() says so.
  }
  if (state->runners.fetch_sub(1, std::memory_order_acq_rel) == 1) state->done.close();
}

}  // namespace internal

template <class Items, class F>
class MapStream {
 public:
  using Value = internal::MappedValue<F, internal::ItemOf<Items>>;
  using State = internal::StreamState<Items, F, Value>;

  explicit MapStream(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
  MapStream(MapStream&&) noexcept = default;
  ~MapStream() {
    if (state_) stop();
  }
  // The runners end soon; their scope waits for them.
  void stop() {
    state_->context.request_stop();
    state_->done.close();
  }
  // The next item; none: there are no more. Throws the item's error unless with collect_all.
  Task<std::optional<MapItem<Value>>> next() {
    std::optional<MapItem<Value>> item;
    if (state_->options.ordered) {
      auto found = early_.find(expected_);
      while (found == early_.end()) {
        item = co_await state_->done.receive();
        if (!item) break;
        const std::size_t index = item->index;
        early_.emplace(index, std::move(*item));
        found = early_.find(expected_);
      }
      if (found == early_.end()) co_return ended();
      item = std::move(found->second);
      early_.erase(found);
      ++expected_;
    } else {
      item = co_await state_->done.receive();
      if (!item) co_return ended();
      ++expected_;
    }
    item->credit.release();
    if (item->error && state_->options.on_error == OnError::stop_siblings) {
      stop();
      std::rethrow_exception(item->error);
    }
    co_return item;
  }

 private:
  std::optional<MapItem<Value>> ended() const {
    if (expected_ < static_cast<std::size_t>(std::size(state_->items))) throw Cancelled();
    return std::nullopt;
  }
  std::shared_ptr<State> state_;
  std::map<std::size_t, MapItem<Value>> early_;
  std::size_t expected_ = 0;
};

// The runners are tasks of `scope`: it must be joined after the stream was read or stopped.
template <class Range, class F>
MapStream<Range, F> parallel_stream(Scope& scope, Range items, F function,
                                    const MapOptions& options = {}) {
  using Stream = MapStream<Range, F>;
  const std::size_t limit = std::max<std::size_t>(1, options.limit);
  const std::size_t window = options.window != 0 ? options.window : 2 * limit;
  const std::size_t runners = std::min({limit, window, std::max<std::size_t>(1, std::size(items))});
  auto state = std::make_shared<typename Stream::State>(std::move(items), std::move(function),
                                                        options, window, scope.context().child());
  state->runners = runners;
  for (std::size_t i = 0; i < runners; ++i) {
    scope.spawn(internal::stream_runner(state), "parallel_stream", state->context);
  }
  return Stream(std::move(state));
}

}  // namespace genscope::optimize
