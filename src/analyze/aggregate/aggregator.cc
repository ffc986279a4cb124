// A rank is folded in when it comes: its stages and figures go into tables by name (across.h), its
// meetings are matched against those of the first rank that had any, and then both are let go. What
// stays of it is some hundred bytes, so memory grows with the ranks and not with their spans.
//
// What needs all ranks waits for finish(), in this order: who is a helper of another rank (a forked
// worker has its parent's number), what each is called, and only then what is counted, missing,
// failed, double, slow or late. Each of these is linear in the ranks but for a sort.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include <genscope/analyze.h>

#include "analyze/aggregate/across.h"
#include "analyze/aggregate/clock_offsets.h"
#include "analyze/aggregate/stragglers.h"
#include "analyze/time.h"

namespace genscope {
namespace {

constexpr std::size_t kMaxNames = 1000;
constexpr std::size_t kMaxMissing = 1000;
constexpr std::size_t kMaxSentences = 1000;  // of failures, of notes, ...

void say(std::vector<std::string>& list, std::string sentence) {
  if (list.size() < kMaxSentences) list.push_back(std::move(sentence));
}

// Probes that stand beside the processes they watch.
bool is_sampler(const RankFigures& rank) { return rank.samples_only && rank.run_processes > 1; }

std::string counted(std::uint64_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

}  // namespace

struct Aggregator::State {
  std::vector<RankFigures> ranks;  // in the order in which they came, without what is folded in
  std::vector<std::optional<analysis::MeetingOffset>> offsets;  // of each, to `reference`
  std::vector<RankFigures> unread;
  std::optional<std::size_t> reference;  // the first with meetings
  std::vector<Meeting> reference_meetings;
  analysis::AcrossTable stages{kMaxNames}, figures{kMaxNames};

  // --- made by finish()
  std::vector<bool> helper;          // a child of a rank that bears its number, or samples only
  std::vector<std::uint32_t> order;  // by rank, those without one last, helpers left out

  bool counts(std::uint32_t i) const { return !helper[i]; }
  void find_helpers();
  void name_ranks();
  void count_ranks(Aggregate& out) const;
  void find_missing(Aggregate& out) const;
  void find_failed(Aggregate& out) const;
  void find_duplicates(Aggregate& out) const;
  void fold(Aggregate& out) const;
  void straggle(Aggregate& out) const;
  void clocks(Aggregate& out) const;
};

Aggregator::Aggregator() : state_(std::make_unique<State>()) {}
Aggregator::~Aggregator() = default;

void Aggregator::add(RankFigures rank) {
  State& s = *state_;
  if (!rank.problem.empty()) {
    s.unread.push_back(std::move(rank));
    return;
  }
  const auto place = static_cast<std::uint32_t>(s.ranks.size());
  for (const auto& [name, value] : rank.stage_seconds) s.stages.add(name, place, value);
  for (const auto& [name, value] : rank.figures) s.figures.add(name, place, value);
  if (!is_sampler(rank)) {
    const auto figure = [&](const char* name, const std::optional<double>& value) {
      if (value) s.figures.add(name, place, *value);
    };
    const double wall = static_cast<double>(rank.wall_ns) / 1e9;
    if (rank.wall_ns > 0) figure("wall_seconds", wall);
    if (rank.steps) figure("steps", static_cast<double>(*rank.steps));
    figure("step_p50_seconds", rank.step_p50_seconds);
    figure("collective_seconds", rank.collective_seconds);
    figure("input_seconds", rank.input_seconds);
  }
  std::optional<analysis::MeetingOffset> offset;
  if (!s.reference && !rank.meetings.empty()) {
    s.reference = place;
    s.reference_meetings = std::move(rank.meetings);
  } else if (s.reference) {
    offset = analysis::meeting_offset(s.reference_meetings, rank.meetings);
  }
  s.offsets.push_back(offset);
  rank.stage_seconds = {};
  rank.meetings = {};
  if (place >= kExactRanks) rank.figures = {};
  s.ranks.push_back(std::move(rank));
}

// Workers that a rank has forked inherit its number: known by their parent.
void Aggregator::State::find_helpers() {
  helper.assign(ranks.size(), false);
  std::map<std::pair<std::string_view, std::uint32_t>, int> pids;  // run, pid -> rank
  for (const RankFigures& r : ranks) {
    if (r.rank && r.pid != 0) pids.emplace(std::pair(std::string_view(r.run), r.pid), *r.rank);
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankFigures& r = ranks[i];
    helper[i] = is_sampler(r);
    if (!r.rank || r.ppid == 0 || r.ppid == r.pid) continue;
    const auto parent = pids.find({r.run, r.ppid});
    if (parent != pids.end() && parent->second == *r.rank) helper[i] = true;
  }
}

void Aggregator::State::name_ranks() {
  std::map<int, int> bearers;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank && !helper[i]) ++bearers[*ranks[i].rank];
  }
  for (RankFigures& r : ranks) {
    if (is_sampler(r)) {
      r.label = fmt::format("all of {}", r.name);
    } else if (!r.rank) {
      r.label = r.source;
    } else if (bearers[*r.rank] > 1) {
      r.label = fmt::format("rank {} ({})", *r.rank, r.source);
    } else {
      r.label = fmt::format("rank {}", *r.rank);
    }
  }
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    if (!helper[i]) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t at) {
      return std::pair(!ranks[at].rank, ranks[at].rank.value_or(0));
    };
    return key(a) < key(b);
  });
}

void Aggregator::State::count_ranks(Aggregate& out) const {
  out.ranks = order.size();
  std::set<std::string_view> runs;
  std::set<int> sizes;
  std::uint64_t helpers = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    runs.insert(ranks[i].run);
    if (helper[i]) {
      helpers += is_sampler(ranks[i]) ? 0 : 1;
    } else if (ranks[i].world_size) {
      sizes.insert(*ranks[i].world_size);
    }
  }
  out.runs = runs.size();
  if (helpers > 0) {
    say(out.notes, counted(helpers, "process that a rank started is",
                           "processes that ranks started "
                           "are") +
                       " left out");
  }
  if (sizes.empty()) return;
  out.world_size = *sizes.rbegin();
  if (sizes.size() > 1) {
    say(out.notes, fmt::format("ranks differ in the world size they say: {} to {}", *sizes.begin(),
                               *sizes.rbegin()));
  }
}

void Aggregator::State::find_missing(Aggregate& out) const {
  if (!out.world_size || *out.world_size <= 0) return;
  std::set<int> found;
  for (const std::vector<RankFigures>* list : {&ranks, &unread}) {
    for (const RankFigures& r : *list) {
      if (r.rank && *r.rank >= 0 && *r.rank < *out.world_size) found.insert(*r.rank);
    }
  }
  out.missing_count = static_cast<std::uint64_t>(*out.world_size) - found.size();
  for (int rank = 0; rank < *out.world_size && out.missing.size() < kMaxMissing; ++rank) {
    if (!found.contains(rank)) out.missing.push_back(rank);
    if (out.missing.size() == out.missing_count) break;
  }
}

void Aggregator::State::find_failed(Aggregate& out) const {
  std::set<std::string_view> told;
  for (const std::uint32_t i : order) {
    const RankFigures& r = ranks[i];
    if (r.exit_code && *r.exit_code != 0 && told.insert(r.run).second) {
      // Of several processes nobody knows whose it was.
      say(out.failed, r.run_processes > 1
                          ? fmt::format("run {}: exit code {}", r.name, *r.exit_code)
                          : fmt::format("{}: exit code {}", r.label, *r.exit_code));
    }
    if (r.failed_spans > 0) {
      say(out.failed, fmt::format("{}: {} failed", r.label,
                                  counted(r.failed_spans, "session, request, batch or step",
                                          "sessions, requests, batches or steps")));
    }
    if (r.running) {
      say(out.notes, fmt::format("{}: still running", r.label));
    } else if (!r.closed) {
      say(out.failed, fmt::format("{}: ended without closing its record (killed?)", r.label));
    }
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const std::string& note : ranks[i].notes) {
      say(out.notes, fmt::format("{}: {}", ranks[i].label, note));
    }
  }
  for (const RankFigures& r : unread) {
    const bool named = r.problem.starts_with(r.source);
    say(out.unread, named ? r.problem : fmt::format("{}: {}", r.source, r.problem));
  }
}

// The same rank twice at the same time. One after the other, they are sessions.
void Aggregator::State::find_duplicates(Aggregate& out) const {
  std::map<int, std::vector<std::uint32_t>> by_rank;
  for (const std::uint32_t i : order) {
    if (ranks[i].rank) by_rank[*ranks[i].rank].push_back(i);
  }
  for (auto& [rank, places] : by_rank) {
    std::stable_sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
      return ranks[a].begin_unix_ns < ranks[b].begin_unix_ns;
    });
    for (std::size_t k = 1; k < places.size(); ++k) {
      const RankFigures &a = ranks[places[k - 1]], &b = ranks[places[k]];
      const bool timed = a.begin_unix_ns && b.begin_unix_ns;
      const bool after = timed &&
                         *b.begin_unix_ns >= analysis::interval(*a.begin_unix_ns, a.wall_ns).end &&
                         *b.begin_unix_ns > *a.begin_unix_ns;
      if (after) continue;
      say(out.duplicate, fmt::format("rank {}: {} and {}", rank, a.source, b.source));
    }
  }
}

void Aggregator::State::fold(Aggregate& out) const {
  const auto counts_rank = [&](std::uint32_t i) { return counts(i); };
  const auto any = [&](std::uint32_t i) { return counts(i) || is_sampler(ranks[i]); };
  const auto label = [&](std::uint32_t i) { return ranks[i].label; };
  out.stages = stages.rows(counts_rank, label);
  out.figures = figures.rows(any, label);
  std::stable_sort(out.stages.begin(), out.stages.end(),
                   [](const AcrossRanks& a, const AcrossRanks& b) { return a.median > b.median; });
  const std::uint64_t left_out = stages.left_out() + figures.left_out();
  if (left_out > 0) {
    say(out.notes, fmt::format("more than {} names: {} left out", kMaxNames,
                               counted(left_out, "value", "values")));
  }
}

void Aggregator::State::straggle(Aggregate& out) const {
  std::vector<const RankFigures*> all;
  for (const std::uint32_t i : order) all.push_back(&ranks[i]);
  std::uint64_t aside = 0;
  for (const std::vector<std::size_t>& group : analysis::jobs_of(all)) {
    std::vector<const RankFigures*> together;
    for (const std::size_t i : group) together.push_back(all[i]);
    if (group.size() > 1) out.compared += group.size();
    for (Straggler& one : analysis::find_stragglers(together, aside)) {
      if (out.stragglers.size() < kMaxSentences) out.stragglers.push_back(std::move(one));
    }
  }
  if (aside > 0) {
    say(out.notes, counted(aside, "rank has", "ranks have") +
                       " another number of collectives than the median rank: not compared for "
                       "stragglers");
  }
}

void Aggregator::State::clocks(Aggregate& out) const {
  if (order.size() < 2) return;
  const std::size_t first = reference && !helper[*reference] ? *reference : order.front();
  const RankFigures& r = ranks[first];
  out.clock_reference = r.label;
  for (const std::uint32_t i : order) {
    if (i == first || out.clocks.size() >= kExactRanks) continue;
    ClockOffset clock;
    clock.rank = ranks[i].label;
    if (!r.boot_id.empty() && ranks[i].boot_id == r.boot_id) {
      clock.method = "same boot";
      clock.error_seconds = 0;
    } else if (offsets[i] && first == reference) {
      clock.method = "collectives";
      clock.offset_seconds = offsets[i]->offset_seconds;
      clock.error_seconds = offsets[i]->error_seconds;
      clock.meetings = offsets[i]->meetings;
    } else {
      clock.method = "unix clocks";
    }
    out.clocks.push_back(std::move(clock));
  }
}

Aggregate Aggregator::finish() {
  State& s = *state_;
  Aggregate out;
  s.find_helpers();
  s.name_ranks();
  s.count_ranks(out);
  s.find_missing(out);
  s.find_failed(out);
  s.find_duplicates(out);
  s.fold(out);
  s.straggle(out);
  s.clocks(out);
  for (const std::uint32_t i : s.order) {
    if (out.rows.size() == kExactRanks) break;
    out.rows.push_back(std::move(s.ranks[i]));
  }
  state_ = std::make_unique<State>();
  return out;
}

}  // namespace genscope
