// Where ranks meet in collectives, all leave together, so the time that a rank waits there is the
// time by which it came early: the culprit waits least, its victims most. A rank's own speed cannot
// be seen where ranks meet, because all steps take as long as the slowest; so steps are compared
// only where no collectives were marked.
//
// The median rank is the yardstick, with a ratio and a least share of the wall time: on many ranks
// somebody is always the last. Ranks with another number of collectives (a different part of a
// pipeline, a process that died) are set aside and counted.
//
// Before that, what is compared must be one job. Runs that overlap in time are one; runs apart are
// the same job if they share a run's id, or have the same world size and no rank twice (a job whose
// ranks were recorded one after the other). O(n log n) in the ranks.
#include "analyze/aggregate/stragglers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "analyze/statistics/statistics.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

using Ranks = std::vector<const RankFigures*>;
using RankFigure = std::optional<double> RankFigures::*;

constexpr double kSameCount = 0.1;   // of the median number of collectives
constexpr double kAlsoVictim = 0.9;  // of the longest wait: also a victim

double median_of(const Ranks& ranks, RankFigure figure) {
  std::vector<double> values;
  for (const RankFigures* rank : ranks) values.push_back(*(rank->*figure));
  return stats::quantile(values, 0.5).value_or(0);
}

double median_wall_seconds(const Ranks& ranks) {
  std::vector<double> values;
  for (const RankFigures* rank : ranks) values.push_back(static_cast<double>(rank->wall_ns) / 1e9);
  return stats::quantile(values, 0.5).value_or(0);
}

// Those that have the figure, by its value, least first.
Ranks having(std::span<const RankFigures* const> ranks, RankFigure figure) {
  Ranks out;
  for (const RankFigures* rank : ranks) {
    if (rank->*figure) out.push_back(rank);
  }
  std::stable_sort(out.begin(), out.end(), [&](const RankFigures* a, const RankFigures* b) {
    return *(a->*figure) < *(b->*figure);
  });
  return out;
}

Ranks with_usual_count(const Ranks& ranks, std::uint64_t& aside) {
  std::vector<double> counts;
  for (const RankFigures* rank : ranks) counts.push_back(static_cast<double>(rank->collectives));
  const double median = stats::quantile(counts, 0.5).value_or(0);
  Ranks out;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (std::abs(counts[i] - median) <= kSameCount * median) out.push_back(ranks[i]);
  }
  aside += ranks.size() - out.size();
  return out;
}

void add_collective(const Ranks& ranks, std::vector<Straggler>& out) {
  constexpr RankFigure kWait = &RankFigures::collective_seconds;
  const double median = median_of(ranks, kWait);
  const double real = Straggler::kRealShare * median_wall_seconds(ranks);
  const double least = *(ranks.front()->*kWait), most = *(ranks.back()->*kWait);
  std::size_t culprits = 0;
  for (const RankFigures* rank : ranks) {
    const double wait = *(rank->*kWait);
    if (wait >= Straggler::kCulpritRatio * median || median - wait <= real) break;
    if (culprits++ == kMaxStragglers) break;
    out.push_back({rank->label, "culprit", wait, median,
                   fmt::format("waits {:.3g} s in {} collectives, the median rank {:.3g} s: the "
                               "others wait for it",
                               wait, rank->collectives, median)});
  }
  if (culprits == 0) return;
  std::size_t victims = 0;
  for (auto it = ranks.rbegin(); it != ranks.rend() && victims < kMaxStragglers; ++it, ++victims) {
    const double wait = *((*it)->*kWait);
    if (wait < kAlsoVictim * most) break;
    out.push_back({(*it)->label, "victim", wait, median,
                   fmt::format("waits {:.3g} s in collectives, {} {:.3g} s", wait,
                               ranks.front()->label, least)});
  }
}

// Those above kSlowRatio times the median, longest first, if the excess is above `real` seconds.
void add_slow(const Ranks& ranks, RankFigure figure, double real, const char* role,
              const std::function<std::string(double value, double median)>& why,
              std::vector<Straggler>& out) {
  const double median = median_of(ranks, figure);
  std::size_t count = 0;
  for (auto it = ranks.rbegin(); it != ranks.rend() && count < kMaxStragglers; ++it, ++count) {
    const double value = *((*it)->*figure);
    if (value <= Straggler::kSlowRatio * median || value - median <= real) break;
    out.push_back({(*it)->label, role, value, median, why(value, median)});
  }
}

using RankPlaces = std::vector<std::size_t>;

std::vector<RankPlaces> groups_in_time(std::span<const RankFigures* const> ranks) {
  RankPlaces known, unknown;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    (ranks[i]->begin_unix_ns ? known : unknown).push_back(i);
  }
  std::stable_sort(known.begin(), known.end(), [&](std::size_t a, std::size_t b) {
    return *ranks[a]->begin_unix_ns < *ranks[b]->begin_unix_ns;
  });
  std::vector<RankPlaces> groups;
  std::int64_t until = kEarliest;
  for (const std::size_t i : known) {
    const Interval time = interval(*ranks[i]->begin_unix_ns, ranks[i]->wall_ns);
    if (groups.empty() || time.begin >= until) groups.emplace_back();
    groups.back().push_back(i);
    until = std::max(until, time.end);
  }
  if (!unknown.empty()) groups.push_back(std::move(unknown));
  return groups;
}

// Puts groups that are parts of one job together; each costs what it holds.
class Jobs {
 public:
  explicit Jobs(std::span<const RankFigures* const> ranks) : ranks_(ranks) {}

  void add(const RankPlaces& group) {
    const std::size_t job = find(group);
    if (job == jobs_.size()) jobs_.emplace_back();
    for (const std::size_t i : group) {
      const RankFigures& rank = *ranks_[i];
      jobs_[job].places.push_back(i);
      if (rank.rank) jobs_[job].ranks.insert(*rank.rank);
      if (!rank.run.empty()) of_run_.emplace(rank.run, job);
      if (rank.world_size) of_world_[*rank.world_size] = job;
    }
  }
  std::vector<RankPlaces> take() {
    std::vector<RankPlaces> out;
    for (Job& job : jobs_) out.push_back(std::move(job.places));
    return out;
  }

 private:
  struct Job {
    RankPlaces places;
    std::set<int> ranks;
  };

  std::size_t find(const RankPlaces& group) const {
    const RankFigures& first = *ranks_[group.front()];
    const auto run = of_run_.find(first.run);
    if (run != of_run_.end()) return run->second;
    const auto world = of_world_.find(first.world_size.value_or(0));
    if (world == of_world_.end() || world->first < 2) return jobs_.size();
    for (const std::size_t i : group) {
      const std::optional<int>& rank = ranks_[i]->rank;
      if (!rank || jobs_[world->second].ranks.contains(*rank)) return jobs_.size();
    }
    return world->second;
  }

  std::span<const RankFigures* const> ranks_;
  std::vector<Job> jobs_;
  std::map<std::string_view, std::size_t> of_run_;
  std::map<int, std::size_t> of_world_;  // the latest job of that world size
};

}  // namespace

std::vector<Straggler> find_stragglers(std::span<const RankFigures* const> ranks,
                                       std::uint64_t& aside) {
  std::vector<Straggler> out;
  const Ranks meeting = with_usual_count(having(ranks, &RankFigures::collective_seconds), aside);
  if (meeting.size() >= 2) {
    add_collective(meeting, out);
  } else if (const Ranks stepping = having(ranks, &RankFigures::step_p50_seconds);
             stepping.size() >= 2) {
    const auto why = [](double value, double median) {
      return fmt::format("its median step takes {:.3g} s, that of the median rank {:.3g} s", value,
                         median);
    };
    add_slow(stepping, &RankFigures::step_p50_seconds, 0, "slow", why, out);
  }
  const Ranks waiting = having(ranks, &RankFigures::input_seconds);
  if (waiting.size() < 2) return out;
  const auto why = [](double value, double median) {
    return fmt::format("waits {:.3g} s for input, the median rank {:.3g} s", value, median);
  };
  add_slow(waiting, &RankFigures::input_seconds,
           Straggler::kRealShare * median_wall_seconds(waiting), "input", why, out);
  return out;
}

std::vector<std::vector<std::size_t>> jobs_of(std::span<const RankFigures* const> ranks) {
  Jobs jobs(ranks);
  for (const RankPlaces& group : groups_in_time(ranks)) jobs.add(group);
  return jobs.take();
}

}  // namespace genscope::analysis
