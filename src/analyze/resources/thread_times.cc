#include "analyze/resources/thread_times.h"

#include <algorithm>
#include <map>

namespace genscope::analysis {

std::vector<std::uint32_t> ThreadTimes::threads_of(const Trace& trace) {
  std::map<std::string_view, std::uint32_t> latest;  // threads may have one name
  std::vector<std::uint32_t> threads;
  for (const TrackInfo& track : trace.tracks) {
    const auto place = static_cast<std::uint32_t>(threads.size());
    const std::string_view name = track.name;
    const std::size_t suffix = name.ends_with(')') ? name.rfind(" (overlap ") : name.npos;
    const auto beside = suffix == name.npos ? latest.end() : latest.find(name.substr(0, suffix));
    if (beside == latest.end()) latest[name] = place;
    threads.push_back(beside == latest.end() ? place : beside->second);
  }
  return threads;
}

bool ThreadTimes::hold(std::uint32_t track, std::int64_t at_ns) const noexcept {
  const Stretches& all = of_thread_[thread_[track]];
  const auto after =
      std::upper_bound(all.begin(), all.end(), at_ns,
                       [](std::int64_t at, const Interval& one) { return at < one.begin; });
  return after != all.begin() && at_ns < std::prev(after)->end;
}

bool ThreadTimes::empty() const noexcept {
  return std::all_of(of_thread_.begin(), of_thread_.end(),
                     [](const Stretches& one) { return one.empty(); });
}

}  // namespace genscope::analysis
