#include <algorithm>
#include <map>

#include <genscope/statistics.h>

#include "advise/facts/parts.h"
#include "analyze/aggregate/waits.h"
#include "analyze/time.h"

namespace genscope::advice {
namespace {

constexpr const char* kAll[] = {"rank.input_skew", "rank.input_slowest", "rank.wait_med",
                                "rank.wait_min", "rank.straggler"};

void all_missing(Facts& facts, const char* why) {
  for (const char* name : kAll) facts.set_missing(name, why);
}

// Of each rank the process with most spans: a rank's own workers bear its number too.
std::map<int, const Trace*> ranks_of(const Run& run) {
  std::map<int, const Trace*> ranks;
  for (const Trace& trace : run.traces) {
    if (!trace.process.rank) continue;
    const Trace*& known = ranks[*trace.process.rank];
    if (known == nullptr || trace.spans.size() > known->spans.size()) known = &trace;
  }
  return ranks;
}

struct Figures {
  std::vector<int> ranks;
  std::vector<double> values;
  // Place of the least or the greatest.
  std::size_t least() const {
    return static_cast<std::size_t>(std::min_element(values.begin(), values.end()) -
                                    values.begin());
  }
  std::size_t most() const {
    return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) -
                                    values.begin());
  }
};

void wait_facts(const Figures& shares, Facts& facts) {
  if (shares.values.size() < 2) {
    for (const char* name : {"rank.wait_med", "rank.wait_min", "rank.straggler"}) {
      facts.set_missing(name, "fewer than two ranks marked collectives");
    }
    return;
  }
  facts.set("rank.wait_med", *stats::quantile(shares.values, 0.5));
  facts.set("rank.wait_min", shares.values[shares.least()]);
  facts.set("rank.straggler", std::to_string(shares.ranks[shares.least()]));
}

void input_facts(const Figures& seconds, Facts& facts) {
  const std::optional<double> median = stats::quantile(seconds.values, 0.5);
  if (seconds.values.size() < 2 || !median || *median <= 0) {
    for (const char* name : {"rank.input_skew", "rank.input_slowest"}) {
      facts.set_missing(name, "fewer than two ranks marked their wait for input");
    }
    return;
  }
  facts.set("rank.input_skew", seconds.values[seconds.most()] / *median);
  facts.set("rank.input_slowest", std::to_string(seconds.ranks[seconds.most()]));
}

}  // namespace

void rank_facts(const Run& run, Facts& facts) {
  const std::map<int, const Trace*> ranks = ranks_of(run);
  if (ranks.empty()) {
    facts.set_missing("rank.count", "no process says its rank");
    return all_missing(facts, "no process says its rank");
  }
  facts.set("rank.count", static_cast<double>(ranks.size()));
  if (ranks.size() < 2) return all_missing(facts, "the run has one rank");
  Figures waits, inputs;
  for (const auto& [rank, trace] : ranks) {
    const analysis::Waits one = analysis::waits_of(*trace);
    const double wall =
        static_cast<double>(analysis::subtract(trace->end_ns, trace->begin_ns)) / 1e9;
    if (one.collective_seconds && wall > 0) {
      waits.ranks.push_back(rank);
      waits.values.push_back(*one.collective_seconds / wall);
    }
    if (one.input_seconds) {
      inputs.ranks.push_back(rank);
      inputs.values.push_back(*one.input_seconds);
    }
  }
  wait_facts(waits, facts);
  input_facts(inputs, facts);
}

}  // namespace genscope::advice
