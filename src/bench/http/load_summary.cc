// Figures of a load run. A failed request counts as never answered: it is over any SLO, and a
// percentile whose place falls on one is refused, since leaving failures out would make a server
// look faster the more it fails.
//
// A percentile is given only where the number of requests can carry it: MLPerf LoadGen's early
// stopping, 662 requests for p99 at 99 % confidence. The SLO is met when that test is passed with
// the number of requests that were over it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"
#include "bench/http/load.h"
#include "bench/http/load_text.h"
#include "report/format.h"

namespace genscope::bench {
namespace {

constexpr double kNever = 1e300;  // stands for a latency without end: statistics take finite ones
constexpr double kRanks[] = {0.5, 0.9, 0.95, 0.99, 0.999};

std::string rank_name(double percentile) { return fmt::format("p{:g}", percentile * 100); }

// Requests that any claim about the percentile needs: 662 for p99.
std::uint64_t least_requests(double percentile, double confidence) {
  const double one = 0;
  const auto claim = stats::claim_percentile({&one, 1}, percentile, confidence);
  return claim ? claim->least : std::numeric_limits<std::uint64_t>::max();
}

std::string seconds_text(double seconds) { return report::duration(seconds * 1e9); }

// One value for each request, or for each query where several are asked at once.
struct Pooled {
  std::vector<double> latency_s, service_s, delay_s, ttft_s, tpot_s;
  double tokens = 0, poll_error_s = 0;
  std::uint64_t good = 0;  // requests
  double makespan_s = 0;
  bool open_loop = false;
};

// The latest end counts for a query, and one failure for all of it.
void add_queries(const LoadRun& run, Pooled& out) {
  struct Query {
    std::int64_t scheduled_ns = 0, began_ns = std::numeric_limits<std::int64_t>::max(), done_ns = 0;
    bool failed = false;
  };
  std::map<std::uint64_t, Query> queries;
  for (const LoadRequest& request : run.requests) {
    Query& query = queries[request.query];
    query.scheduled_ns = request.scheduled_ns;
    query.began_ns = std::min(query.began_ns, request.began_ns);
    query.done_ns = std::max(query.done_ns, request.done_ns);
    query.failed = query.failed || request.failure.has_value();
  }
  for (const auto& [number, query] : queries) {
    const auto took = [&query = query](std::int64_t from) {
      return query.failed ? kNever : static_cast<double>(query.done_ns - from) * 1e-9;
    };
    out.latency_s.push_back(took(query.scheduled_ns));
    out.service_s.push_back(took(query.began_ns));
  }
}

void add_requests(const LoadRun& run, Pooled& out) {
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  for (const LoadRequest& request : run.requests) {
    out.delay_s.push_back(std::max(0.0, seconds(request.began_ns - request.scheduled_ns)));
    if (!std::isnan(request.ttft_s)) out.ttft_s.push_back(request.ttft_s);
    if (!std::isnan(request.tpot_s)) out.tpot_s.push_back(request.tpot_s);
    if (!std::isnan(request.tokens)) out.tokens += request.tokens;
    if (!std::isnan(request.poll_error_s)) {
      out.poll_error_s = std::max(out.poll_error_s, static_cast<double>(request.poll_error_s));
    }
    if (!request.failure) ++out.good;
    if (run.samples_per_query > 1) continue;
    out.latency_s.push_back(request.failure ? kNever
                                            : seconds(request.done_ns - request.scheduled_ns));
    out.service_s.push_back(request.failure ? kNever : seconds(request.done_ns - request.began_ns));
  }
  if (run.samples_per_query > 1) add_queries(run, out);
}

// From the first start of any generator to the last answer, by the hosts' clocks.
double makespan(std::span<const LoadRun> runs) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (const LoadRun& run : runs) {
    if (run.requests.empty()) continue;
    first = std::min(first, run.started_unix_ns);
    for (const LoadRequest& request : run.requests) {
      last = std::max(last, run.started_unix_ns + request.done_ns);
    }
  }
  return last > first ? static_cast<double>(last - first) * 1e-9 : 0;
}

std::map<std::string, double> percentiles(const std::vector<double>& values, double confidence) {
  std::map<std::string, double> out;
  for (const double rank : kRanks) {
    if (values.size() < least_requests(rank, confidence)) continue;
    const auto value = stats::loadgen_percentile(values, rank);
    if (value && *value < kNever) out[rank_name(rank)] = *value;
  }
  return out;
}

std::string refusal(std::size_t n, std::size_t failed, double wanted, double confidence) {
  const std::uint64_t least = least_requests(wanted, confidence);
  if (n < least) {
    const auto best = stats::largest_claim(n, kRanks, confidence);
    return fmt::format("{} needs {} requests, {} were made; {}", rank_name(wanted),
                       report::count(least), report::count(n),
                       best ? "the highest that they can carry is " + rank_name(*best)
                            : "they can carry no percentile");
  }
  const double failed_share = n == 0 ? 0 : static_cast<double>(failed) / static_cast<double>(n);
  if (failed_share > 1 - wanted) {
    return fmt::format("{} cannot be given: {} of the requests failed", rank_name(wanted),
                       report::percent(failed_share));
  }
  return "";
}

void judge_slo(const Pooled& pooled, const Slo& slo, double confidence, LoadResultSummary& out) {
  out.slo_s = slo.latency_s;
  out.slo_percentile = slo.percentile;
  const std::size_t n = pooled.latency_s.size();
  if (n == 0) return;
  const auto within =
      static_cast<std::size_t>(std::count_if(pooled.latency_s.begin(), pooled.latency_s.end(),
                                             [&](double s) { return s <= slo.latency_s; }));
  out.slo_attainment = static_cast<double>(within) / static_cast<double>(n);
  if (pooled.makespan_s > 0) {
    const double share = static_cast<double>(within) / static_cast<double>(n);
    out.goodput_per_s = share * static_cast<double>(out.requests) / pooled.makespan_s;
  }
  if (*out.slo_attainment < slo.percentile) {
    out.slo_verdict = "missed";
    return;
  }
  const auto run = stats::server_run(n, n - within, slo.percentile, confidence);
  out.slo_verdict = run && run->valid ? "met" : "not_shown";
  if (run && !run->valid) {
    out.notes.push_back(fmt::format(
        "{} more requests like these would show whether {} are within {}",
        report::count(run->missing), report::percent(slo.percentile), seconds_text(slo.latency_s)));
  }
}

void note_clocks(std::span<const LoadRun> runs, LoadResultSummary& out) {
  if (runs.size() < 2) return;
  double worst = 0;
  bool known = true;
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (const LoadRun& run : runs) {
    known = known && run.clock_error_s.has_value();
    worst = std::max(worst, run.clock_error_s.value_or(0));
    first = std::min(first, run.started_unix_ns);
    last = std::max(last, run.started_unix_ns);
  }
  out.notes.push_back(fmt::format("{} generators, started within {} of each other", runs.size(),
                                  report::duration(last - first)));
  out.notes.push_back(known
                          ? fmt::format("their clocks are right within {} each, as NTP bounds it; "
                                        "only rates depend on it",
                                        seconds_text(worst))
                          : "how far their clocks differ is not known; only rates depend on it");
}

void note_oddities(std::span<const LoadRun> runs, const Pooled& pooled, LoadResultSummary& out) {
  for (const LoadRun& run : runs) {
    for (const std::string& example : run.examples) out.notes.push_back(example);
    if (run.cancelled > 0) {
      out.notes.push_back(
          fmt::format("{} cancelled; they do not count",
                      report::counted(run.cancelled, "request was", "requests were")));
    }
  }
  if (pooled.poll_error_s > 0) {
    out.notes.push_back(fmt::format("the end was seen by asking again and again: up to {} late",
                                    seconds_text(pooled.poll_error_s)));
  }
  const auto late = out.schedule_delay_s.find("p99");
  if (pooled.open_loop && late != out.schedule_delay_s.end() && late->second > 0.01) {
    out.notes.push_back(
        "the generator was late itself: take several (--generator 1/2), more "
        "connections or a lower rate");
  }
}

}  // namespace

LoadResultSummary summarize_load(std::span<const LoadRun> runs, const std::optional<Slo>& slo,
                                 double confidence) {
  LoadResultSummary out;
  Pooled pooled;
  double offered = 0;
  for (const LoadRun& run : runs) {
    out.scenario = run.scenario;
    pooled.open_loop = run.arrivals != Arrivals::closed;
    out.requests += run.requests.size();
    for (const LoadRequest& request : run.requests) {
      if (!request.failure) continue;
      ++out.failed;
      ++out.failures[std::string(name(*request.failure))];
    }
    if (run.window_s > 0) {
      offered += static_cast<double>(run.requests.size() + run.cancelled) / run.window_s;
    }
    add_requests(run, pooled);
  }
  if (pooled.open_loop && offered > 0) out.offered_per_s = offered;
  pooled.makespan_s = makespan(runs);
  if (pooled.makespan_s > 0) {
    out.achieved_per_s = static_cast<double>(pooled.good) / pooled.makespan_s;
  }
  if (pooled.open_loop) {
    out.from_arrival_s = percentiles(pooled.latency_s, confidence);
    const auto delay = [&](const char* key, double rank) {
      if (const auto value = stats::quantile(pooled.delay_s, rank))
        out.schedule_delay_s[key] = *value;
    };
    delay("p50", 0.5);
    delay("p99", 0.99);
    delay("max", 1);
  }
  out.service_s = percentiles(pooled.service_s, confidence);
  if (auto ttft = percentiles(pooled.ttft_s, confidence); !ttft.empty())
    out.metrics["ttft_s"] = ttft;
  if (auto tpot = percentiles(pooled.tpot_s, confidence); !tpot.empty())
    out.metrics["tpot_s"] = tpot;
  if (pooled.tokens > 0 && pooled.makespan_s > 0) {
    out.metrics["tokens_per_s"]["mean"] = pooled.tokens / pooled.makespan_s;
  }
  const std::size_t n = pooled.latency_s.size();
  out.refused = refusal(n, out.failed, slo ? slo->percentile : 0.99, confidence);
  if (slo) judge_slo(pooled, *slo, confidence, out);
  if (out.scenario == "single-stream" || out.scenario == "multi-stream") {
    const double rank = out.scenario == "single-stream" ? 0.9 : 0.99;
    const auto claim = stats::claim_percentile(pooled.service_s, rank, confidence);
    if (claim && claim->estimate && *claim->estimate < kNever) {
      out.notes.push_back(fmt::format("{} for MLPerf: {} (early stopping, {} confidence)",
                                      rank_name(rank), seconds_text(*claim->estimate),
                                      report::percent(confidence)));
    }
  }
  note_clocks(runs, out);
  note_oddities(runs, pooled, out);
  return out;
}

std::string load_sentence(const LoadResultSummary& summary) {
  if (summary.requests == 0) {
    return "Nothing was measured" + (summary.notes.empty() ? "." : ": " + summary.notes.front());
  }
  if (summary.failed == summary.requests) {
    return fmt::format("All {} requests failed.", report::count(summary.requests));
  }
  if (!summary.slo_s || !summary.slo_attainment) {
    return fmt::format(
        "{} answered, {}{}.",
        report::counted(summary.requests - summary.failed, "request", "requests"),
        rate_text(summary.achieved_per_s),
        summary.failed == 0 ? "" : fmt::format("; {} failed", report::count(summary.failed)));
  }
  const std::string share = report::percent(*summary.slo_attainment);
  const std::string wanted = report::percent(*summary.slo_percentile);
  const std::string within = seconds_text(*summary.slo_s);
  if (summary.slo_verdict == "missed") {
    return fmt::format("SLO missed: {} of {} were answered within {}; {} were asked for.", share,
                       report::counted(summary.requests, "request", "requests"), within, wanted);
  }
  return fmt::format("SLO {}: {} of {} were answered within {} ({} asked for).",
                     summary.slo_verdict == "met" ? "met" : "not shown", share,
                     report::counted(summary.requests, "request", "requests"), within, wanted);
}

}  // namespace genscope::bench
