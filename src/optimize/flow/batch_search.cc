// The largest batch that fits, in few probes.
//
// Memory grows as m0 + m1 * b: weights and workspace do not grow with the batch, activations do.
// Two probes give the line, but the difference of two noisy numbers is a poor slope: so each
// prediction has a margin for 1 % of noise in the bytes, and the next probe goes where the line
// still fits with that margin. A probe there is a long lever, after which the slope is good to a
// fraction of an item. Then the search closes in on the prediction. Each probe that runs out of
// memory uses up one of the few allowed, so a step goes no further than the probes left can make
// good (two eggs and a tower): gap(k, e) = gap(k - 1, e - 1) + gap(k - 1, e). After the last one
// allowed the search ends with the largest size that was seen to fit.
#include <algorithm>
#include <cmath>
#include <map>

#include <genscope/optimize/batch.h>

namespace genscope::optimize {
namespace {

constexpr double kMemoryNoise = 0.01;

// Bytes over batch, each point weighted by 1 / (noise * bytes)^2.
struct MemoryLine {
  double m0 = 0, m1 = 0;
  double var0 = 0, var1 = 0, cov = 0;
  bool known = false;

  explicit MemoryLine(const std::vector<BatchProbe>& probes) {
    double w = 0, x = 0, xx = 0, y = 0, xy = 0;
    std::size_t points = 0;
    for (const BatchProbe& probe : probes) {
      if (!probe.fits || !probe.bytes || !(*probe.bytes > 0)) continue;
      const double weight = 1 / std::pow(kMemoryNoise * *probe.bytes, 2);
      const double b = static_cast<double>(probe.batch);
      w += weight;
      x += weight * b;
      xx += weight * b * b;
      y += weight * *probe.bytes;
      xy += weight * b * *probe.bytes;
      ++points;
    }
    const double spread = w * xx - x * x;
    if (points < 2 || !(spread > 0)) return;
    m1 = (w * xy - x * y) / spread;
    m0 = (y - m1 * x) / w;
    var1 = w / spread;
    var0 = xx / spread;
    cov = -x / spread;
    known = m1 > 0;
  }

  // The largest b that fits with so many standard errors to spare.
  double fits(double budget, double errors) const {
    double b = std::max(0.0, (budget - m0) / m1);
    if (errors == 0) return b;
    double below = 0;
    for (int i = 0; i < 60; ++i) {  // the bytes with their error grow with b
      const double middle = (below + b) / 2;
      const double error =
          std::sqrt(std::max(0.0, var0 + 2 * middle * cov + middle * middle * var1));
      (m0 + m1 * middle + errors * error <= budget ? below : b) = middle;
    }
    return b;
  }
};

struct SearchState {
  const std::function<BatchProbe(std::size_t)>& probe;
  double budget;
  const BatchSearchOptions& options;
  BatchSearch out;
  std::size_t low = 0;   // fits
  std::size_t high = 0;  // does not
  bool high_seen = false;
  std::string why;

  bool may_go_on() const {
    return static_cast<int>(out.probes.size()) < options.most_probes &&
           out.out_of_memory < options.most_out_of_memory;
  }

  bool try_batch(std::size_t batch) {
    BatchProbe seen = probe(batch);
    seen.batch = batch;
    const bool ran_out = !seen.fits;
    if (seen.fits && budget > 0 && seen.bytes && *seen.bytes > budget * (1 + kMemoryNoise))
      seen.fits = false;
    if (ran_out) {
      ++out.out_of_memory;
      out.smallest_out = std::min(out.smallest_out.value_or(batch), batch);
      if (options.ceilings != nullptr) options.ceilings->ran_out(options.key, batch);
    }
    if (seen.fits) {
      low = std::max(low, batch);
    } else {
      high = std::min(high, batch);
      high_seen = true;
    }
    out.probes.push_back(seen);
    return seen.fits;
  }

  // Gain of throughput for a doubling, from the largest measured batch below to this one; the size
  // below, if it was too little.
  std::optional<std::size_t> enough(std::size_t batch) const {
    const BatchProbe* now = nullptr;
    const BatchProbe* before = nullptr;
    for (const BatchProbe& seen : out.probes) {
      if (!seen.fits || !seen.seconds || !(*seen.seconds > 0)) continue;
      if (seen.batch == batch) now = &seen;
      if (seen.batch * 2 <= batch && (before == nullptr || seen.batch > before->batch))
        before = &seen;
    }
    if (now == nullptr || before == nullptr) return std::nullopt;
    const double rate = static_cast<double>(now->batch) / *now->seconds;
    const double rate_before = static_cast<double>(before->batch) / *before->seconds;
    const double steps =
        std::log2(static_cast<double>(now->batch) / static_cast<double>(before->batch));
    const double gain = std::pow(rate / rate_before, 1 / steps) - 1;
    if (gain >= options.least_gain) return std::nullopt;
    return before->batch;
  }

  // The widest gap between what fits and what does not that so many probes can close to two, so
  // that the answer is off by one at most, if so many of them may run out of memory.
  static std::size_t gap_closed(int probes, int outs) {
    if (probes <= 0 || outs <= 0) return 2;
    return std::min<std::size_t>(1u << 20,
                                 gap_closed(probes - 1, outs - 1) + gap_closed(probes - 1, outs));
  }

  std::size_t next() const {
    const MemoryLine line(out.probes);
    const std::size_t top = high - 1;  // what may be tried at most
    if (budget <= 0 || !line.known) {
      return high_seen ? low + (high - low) / 2 : std::min(top, low * 2);
    }
    const auto whole = [](double b) { return static_cast<std::size_t>(std::min(b, 1e9)); };
    const std::size_t likely = std::clamp(whole(line.fits(budget, 0)), low + 1, top);
    const std::size_t surely = std::clamp(whole(line.fits(budget, 2)), low, top);
    const int left = options.most_probes - static_cast<int>(out.probes.size()) - 1;
    const int outs_left = options.most_out_of_memory - out.out_of_memory - 1;
    const std::size_t most =
        low + gap_closed(left, outs_left);  // else running out there is too dear
    if (high_seen) {
      const std::size_t further = gap_closed(left, outs_left + 1);
      const std::size_t least = high > low + 1 + further ? high - further : low + 1;
      const std::size_t closing = std::clamp(std::clamp(likely, std::min(least, top), top), low + 1,
                                             std::max(low + 1, std::min(most, top)));
      return std::max(closing, surely);
    }
    if (surely >= 2 * low || surely > low + 2) return surely;
    return std::clamp(likely, low + 1, std::max(low + 1, std::min(most, top)));
  }

  void go() {
    if (!try_batch(1)) {
      why = "not even a batch of one fits";
      return;
    }
    std::size_t batch = 2;
    while (batch < high && batch <= options.most) {
      if (!may_go_on()) {
        why = out.out_of_memory >= options.most_out_of_memory
                  ? "as many probes ran out of memory as are allowed"
                  : "as many probes were made as are allowed";
        return;
      }
      if (try_batch(batch)) {
        if (const auto smaller = enough(batch)) {
          out.batch = *smaller;
          why = "a larger batch is hardly faster";
          return;
        }
      }
      if (high - low <= 1) break;
      batch = next();
    }
    why = high_seen ? "the next larger batch does not fit" : "it is the largest that may be tried";
  }
};

}  // namespace

BatchSearch optimal_batch(const std::function<BatchProbe(std::size_t batch)>& probe,
                          double budget_bytes, const BatchSearchOptions& options) {
  SearchState search{probe, budget_bytes, options, {}, 0, 0, false, {}};
  search.high = options.most + 1;
  if (options.ceilings != nullptr) {
    if (const auto known = options.ceilings->smallest_out(options.key)) {
      search.high = std::min(search.high, std::max<std::size_t>(2, *known));
      search.high_seen = search.high == *known;
      search.out.smallest_out = known;
    }
  }
  search.go();
  BatchSearch& out = search.out;
  out.largest_fit = search.low;
  if (out.batch == 0) out.batch = search.low;
  const MemoryLine line(out.probes);
  if (line.known) {
    out.base_bytes = line.m0;
    out.bytes_per_item = line.m1;
  }
  out.reason = search.why;
  return std::move(out);
}

// --- ceilings

struct BatchCeilings::State {
  mutable std::mutex mutex;
  std::map<std::string, std::size_t, std::less<>> smallest;
};

BatchCeilings::BatchCeilings() : state_(std::make_unique<State>()) {}
BatchCeilings::~BatchCeilings() = default;

void BatchCeilings::ran_out(std::string_view key, std::size_t batch) {
  const std::lock_guard lock(state_->mutex);
  const auto [found, made] = state_->smallest.emplace(std::string(key), batch);
  if (!made) found->second = std::min(found->second, batch);
}

std::optional<std::size_t> BatchCeilings::smallest_out(std::string_view key) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->smallest.find(key);
  if (found == state_->smallest.end()) return std::nullopt;
  return found->second;
}

std::vector<std::pair<std::string, std::size_t>> BatchCeilings::all() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->smallest.begin(), state_->smallest.end()};
}

}  // namespace genscope::optimize
