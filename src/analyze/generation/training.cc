// One pass over the spans of each trace. A batch belongs to the nearest epoch around it; a trace's
// epochs are in the order of their spans, so that one is found by bisection. Where batches do not
// say their loss, the counter "loss" is read instead, by time.
//
// The longest batch over the shortest leaves out the first of each process, which pays for warming
// up. Spans need not be in the order of time, so the earliest batch so far is held back, and
// counted when an earlier one turns up.
#include <algorithm>
#include <cmath>

#include "analyze/generation/ends.h"
#include "analyze/generation/generation.h"
#include "analyze/generation/keys.h"
#include "analyze/generation/roles.h"
#include "analyze/percentile.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

// The batches of the run, or of an epoch.
class BatchTally {
 public:
  void add_batch(std::int64_t duration_ns, bool failed) {
    if (failed) {
      ++failed_;
    } else {
      durations_.push_back(duration_ns);
    }
  }
  void add_loss(std::int64_t at_ns, double loss) {
    losses_.add(at_ns, loss);
    least_loss_ = std::min(least_loss_.value_or(loss), loss);
  }

  // Reorders what it holds.
  BatchFigures figures() {
    BatchFigures out;
    out.count = durations_.size() + failed_;
    out.failed = failed_;
    out.first_loss = losses_.first();
    out.last_loss = losses_.last();
    out.min_loss = least_loss_;
    if (durations_.empty()) return out;
    for (const std::int64_t d : durations_) out.total_ns = add(out.total_ns, d);
    const auto [least, most] = std::minmax_element(durations_.begin(), durations_.end());
    out.min_ns = *least;
    out.max_ns = *most;
    out.mean_ns = static_cast<double>(out.total_ns) / static_cast<double>(durations_.size());
    const auto middle =
        durations_.begin() + static_cast<std::ptrdiff_t>(nearest_rank(durations_.size(), 50));
    std::nth_element(durations_.begin(), middle, durations_.end());
    out.p50_ns = *middle;
    return out;
  }

 private:
  std::uint64_t failed_ = 0;
  std::vector<std::int64_t> durations_;  // of those that did not fail
  Ends losses_;
  std::optional<double> least_loss_;
};

// Longest over shortest of all batches but each process's first, which pays for warming up.
class Spread {
 public:
  void begin_process() { held_ = false; }
  void add(std::int64_t begin_ns, std::int64_t duration_ns) {
    if (!held_) {
      held_ = true;
    } else if (begin_ns < held_begin_ns_) {
      count(held_duration_ns_);
    } else {
      return count(duration_ns);
    }
    held_begin_ns_ = begin_ns;
    held_duration_ns_ = duration_ns;
  }
  std::optional<double> ratio() const {
    if (count_ < 2 || shortest_ns_ <= 0) return std::nullopt;
    return static_cast<double>(longest_ns_) / static_cast<double>(shortest_ns_);
  }

 private:
  void count(std::int64_t duration_ns) {
    ++count_;
    shortest_ns_ = std::min(shortest_ns_, duration_ns);
    longest_ns_ = std::max(longest_ns_, duration_ns);
  }
  bool held_ = false;  // the earliest so far of this process
  std::int64_t held_begin_ns_ = 0, held_duration_ns_ = 0;
  std::uint64_t count_ = 0;
  std::int64_t shortest_ns_ = kLatest, longest_ns_ = 0;
};

struct Epoch {
  std::uint32_t span = 0;
  Interval time;  // on the run's scale
  bool failed = false, unfinished = false;
  std::optional<double> index;
  BatchTally batches;
};

class Training {
 public:
  void read(const Trace& trace, std::int64_t offset) {
    first_epoch_ = epochs_.size();
    spread_.begin_process();
    any_batch_ = any_loss_ = false;
    read_spans(trace, offset);
    if (any_batch_ && !any_loss_) read_loss_counter(trace, offset);
  }

  TrainingSummary finish() {
    TrainingSummary out;
    out.variance_ratio = spread_.ratio();
    out.high_variance = out.variance_ratio && *out.variance_ratio > StepSummary::kVarianceRatio;
    out.batches = all_.figures();
    std::stable_sort(epochs_.begin(), epochs_.end(),
                     [](const Epoch& a, const Epoch& b) { return a.time.begin < b.time.begin; });
    for (Epoch& epoch : epochs_) {
      EpochRow row;
      row.index = epoch.index ? static_cast<std::uint64_t>(*epoch.index) : out.epochs.size();
      row.duration_ns = epoch.time.length();
      row.failed = epoch.failed;
      row.unfinished = epoch.unfinished;
      row.batches = epoch.batches.figures();
      out.epochs.push_back(std::move(row));
    }
    return out;
  }

 private:
  void read_spans(const Trace& trace, std::int64_t offset) {
    const SpanColumns& spans = trace.spans;
    const auto time = [&](std::size_t i) {
      return interval(add(spans.begin_ns[i], offset), spans.duration_ns[i]);
    };
    const auto has = [&](std::size_t i, SpanFlag flag) { return (spans.flags[i] & flag) != 0; };
    visit_spans(trace, SpanKind::epoch, [&](std::size_t i, const ArgCursor& args) {
      epochs_.push_back({static_cast<std::uint32_t>(i),
                         time(i),
                         has(i, kSpanFailed),
                         has(i, kSpanUnfinished),
                         args.amount(Key::index),
                         {}});
    });
    visit_spans(trace, SpanKind::batch, [&](std::size_t i, const ArgCursor& args) {
      if (has(i, kSpanUnfinished)) return;
      add_batch(time(i), has(i, kSpanFailed), args.number(Key::loss), epoch_around(trace, i));
    });
  }

  void add_batch(Interval time, bool failed, std::optional<double> loss, Epoch* epoch) {
    any_batch_ = true;
    any_loss_ |= loss.has_value();
    if (!failed) spread_.add(time.begin, time.length());
    for (BatchTally* const tally : {&all_, epoch != nullptr ? &epoch->batches : nullptr}) {
      if (tally == nullptr) continue;
      tally->add_batch(time.length(), failed);
      if (loss) tally->add_loss(time.begin, *loss);
    }
  }

  // Those of a trace stand in the order of their spans.
  Epoch* epoch_around(const Trace& trace, std::size_t batch) {
    const std::uint32_t span = nearest_around(
        trace, batch, [&](std::uint32_t s) { return trace.kind(s) == SpanKind::epoch; });
    if (span == kNone) return nullptr;
    const auto found = std::lower_bound(
        epochs_.begin() + static_cast<std::ptrdiff_t>(first_epoch_), epochs_.end(), span,
        [](const Epoch& epoch, std::uint32_t wanted) { return epoch.span < wanted; });
    return found != epochs_.end() && found->span == span ? &*found : nullptr;
  }

  // Of a process whose batches do not say their loss. A value is of the epoch that began last
  // before it, if that is not over.
  void read_loss_counter(const Trace& trace, std::int64_t offset) {
    std::vector<bool> is_loss;
    for (const Name& name : trace.names) is_loss.push_back(name.text == "loss");
    std::vector<Epoch*> by_begin;
    for (std::size_t i = first_epoch_; i < epochs_.size(); ++i) by_begin.push_back(&epochs_[i]);
    std::stable_sort(by_begin.begin(), by_begin.end(),
                     [](const Epoch* a, const Epoch* b) { return a->time.begin < b->time.begin; });
    for (std::size_t i = 0; i < trace.counters.size(); ++i) {
      const double loss = trace.counters.value[i];
      if (!is_loss[trace.counters.name[i]] || !std::isfinite(loss)) continue;
      const std::int64_t at = add(trace.counters.at_ns[i], offset);
      all_.add_loss(at, loss);
      const auto after = std::upper_bound(
          by_begin.begin(), by_begin.end(), at,
          [](std::int64_t t, const Epoch* epoch) { return t < epoch->time.begin; });
      if (after == by_begin.begin()) continue;
      Epoch& epoch = **(after - 1);
      if (at <= epoch.time.end) epoch.batches.add_loss(at, loss);
    }
  }

  std::vector<Epoch> epochs_;
  std::size_t first_epoch_ = 0;  // of the trace that is read
  BatchTally all_;
  Spread spread_;
  bool any_batch_ = false, any_loss_ = false;  // in the trace that is read
};

// torch's profiler names the steps of optimizers "Optimizer.step#AdamW.step".
bool has_optimizer_steps(const Run& run) {
  const auto is_step = [](const Name& name) { return name.text.starts_with("Optimizer.step#"); };
  return std::any_of(run.traces.begin(), run.traces.end(), [&](const Trace& trace) {
    return std::any_of(trace.names.begin(), trace.names.end(), is_step);
  });
}

}  // namespace

TrainingSummary summarize_training(const Run& run, const Clocks& clocks) {
  Training training;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    training.read(run.traces[t], clocks.offset_ns[t]);
  }
  TrainingSummary out = training.finish();
  out.trains = !out.epochs.empty() || out.batches.first_loss || has_optimizer_steps(run);
  if (out.batches.count == 0) return out;
  const BatchParts parts = parts_of_batches(run);
  out.input_wait_share = parts.input_wait_share;
  out.encode_share = parts.encode_share;
  return out;
}

}  // namespace genscope::analysis
