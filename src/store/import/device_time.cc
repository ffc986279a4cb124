#include "store/import/device_time.h"

#include <algorithm>
#include <limits>

namespace genscope::store {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLongestSum = std::int64_t{1} << 57;  // four years: no sum overflows

std::int64_t add(std::int64_t a, std::int64_t b) {
  return std::min(kLongestSum, a + std::min(kLongestSum, b));
}

std::uint64_t join(std::vector<RawLink>& sources, const std::vector<RawLink>& work,
                   std::vector<RawSpan>& spans) {
  std::stable_sort(sources.begin(), sources.end(),
                   [](const RawLink& a, const RawLink& b) { return a.key < b.key; });
  std::uint64_t joined = 0;
  for (const RawLink& w : work) {
    if (spans[w.span].parent != kNone) continue;
    const auto at =
        std::lower_bound(sources.begin(), sources.end(), w.key,
                         [](const RawLink& a, std::uint64_t key) { return a.key < key; });
    if (at == sources.end() || at->key != w.key) continue;
    spans[w.span].parent = at->span;
    joined++;
  }
  return joined;
}

bool is_scoped(const Trace& trace, std::size_t span) {
  return (trace.spans.flags[span] & kSpanDetached) == 0;
}

// Spans within another of the same name. Scoped spans of a track come parents first.
std::vector<bool> within_same_name(const Trace& trace) {
  std::vector<bool> within(trace.spans.size());
  std::vector<std::uint32_t> open_count(trace.names.size());
  std::vector<std::uint32_t> stack;
  for (std::uint32_t i = 0; i < within.size(); ++i) {
    if (!is_scoped(trace, i)) continue;
    while (!stack.empty() && stack.back() != trace.spans.parent[i]) {
      open_count[trace.spans.name[stack.back()]]--;
      stack.pop_back();
    }
    within[i] = open_count[trace.spans.name[i]]++ > 0;
    stack.push_back(i);
  }
  return within;
}

}  // namespace

std::uint64_t link_launches(RawTrace& raw) {
  const std::uint64_t by_call = join(raw.launches, raw.device_work, raw.spans);
  return by_call + join(raw.operators, raw.device_work_by_op, raw.spans);
}

void add_device_time(const std::vector<DeviceWork>& work, Trace& trace) {
  if (work.empty()) return;
  const std::size_t spans = trace.spans.size();
  std::vector<std::int64_t> sum(spans, 0), begin(spans, kNever);
  for (const DeviceWork& w : work) {
    std::uint32_t span = w.launch;
    const std::uint32_t around = trace.spans.parent[span];
    if (w.by_call && around != kNone) span = around;
    sum[span] = add(sum[span], w.duration_ns);
    begin[span] = std::min(begin[span], w.begin_ns);
  }
  for (std::size_t i = spans; i-- > 0;) {
    const std::uint32_t parent = trace.spans.parent[i];
    if (begin[i] == kNever || parent == kNone || parent >= i || !is_scoped(trace, i)) continue;
    sum[parent] = add(sum[parent], sum[i]);
    begin[parent] = std::min(begin[parent], begin[i]);
  }
  const std::vector<bool> repeated = within_same_name(trace);
  for (std::uint32_t i = 0; i < spans; ++i) {
    if (begin[i] == kNever || repeated[i]) continue;
    trace.device.span.push_back(i);
    trace.device.duration_ns.push_back(sum[i]);
    trace.device.begin_ns.push_back(begin[i]);
  }
}

}  // namespace genscope::store
