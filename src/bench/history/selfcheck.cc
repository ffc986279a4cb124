// The floor is what 95 % of pairs of equal runs differ by (noise_floor). It is kept for every
// command only if the built-in work gave it, on a machine that is fit, and if it is small; else it
// is the floor of that one command. The work mixes arithmetic with loads beyond the first cache, so
// that both kinds of noise show.
#include "bench/history/selfcheck.h"

#include <fmt/format.h>

#include "analyze/verdict/verdict.h"
#include "bench/history/rows.h"
#include "bench/output/words.h"
#include "bench/result/json_writer.h"
#include "report/printable.h"

namespace genscope::bench {
namespace {

std::string percent_of(double ratio) { return percent_text(ratio * 100) + " %"; }

const char* said_of_itself(Verdict verdict) {
  switch (verdict) {
    case Verdict::regressed:
    case Verdict::improved:
      return "it differs from itself: something other than the command decides";
    case Verdict::unchanged:
      return "it does not differ from itself";
    default:
      return "nothing tells it from itself";
  }
}

}  // namespace

Selfcheck judge_selfcheck(const BenchResult& result) {
  Selfcheck found;
  if (result.cells.empty()) return found;
  const Cell& cell = result.cells.front();
  const std::vector<double> a = unit_values(cell, 'A', "latency_s");
  const std::vector<double> b = unit_values(cell, 'B', "latency_s");
  const std::vector<double> ratios = pair_ratios(cell);
  found.pairs = ratios.size();
  found.floor = noise_floor(ratios);
  JudgeOptions options;
  options.paired = a.size() == b.size();
  found.judgement = judge(a, b, options);
  options.min_effect = 0;  // what the runs alone can tell
  found.resolves = judge(a, b, options).mde;
  const auto key = result.workload.find("noise_key");
  const bool built_in = key != result.workload.end() && key->second == kMachineKey;
  found.for_machine =
      built_in && found.floor && *found.floor <= kLargestMachineFloor && is_fit(result.environment);
  const Verdict verdict = found.judgement.verdict;
  if (verdict == Verdict::regressed || verdict == Verdict::improved) {
    found.doubts.push_back(
        "the same thing was judged to differ from itself; quiet the machine and "
        "check again");
  }
  if (!found.floor) {
    found.doubts.push_back(
        fmt::format("a floor needs {} pairs; there are {}", kLeastNoisePairs, found.pairs));
  } else if (built_in && !found.for_machine) {
    found.doubts.push_back(
        fmt::format("this is too noisy to be the floor of every command (limit {}): check the "
                    "command itself with `genscope bench selfcheck CMD`, or quiet the machine",
                    percent_of(kLargestMachineFloor)));
  }
  if (!built_in && found.floor.value_or(0) > kLargestMachineFloor) {
    found.doubts.push_back(
        fmt::format("changes of this command below {} will not count: quiet the machine and check "
                    "again",
                    percent_of(*found.floor)));
  }
  for (const EnvironmentCheck& check : result.environment.checks) {
    if (check.status != "warn" && check.status != "unfit") continue;
    found.doubts.push_back(fmt::format("{} is {}, should be {}", check.name, check.value,
                                       check.limit.empty() ? "otherwise" : check.limit));
  }
  return found;
}

std::string selfcheck_text(const BenchResult& result, const Selfcheck& found, std::size_t width) {
  std::string text;
  const auto line = [&](const std::string& sentence) {
    text += report::wrap(report::printable(sentence), width) + "\n";
  };
  if (found.resolves) {
    line(fmt::format("This machine resolves {} in {} runs.", percent_of(*found.resolves),
                     found.pairs));
  } else {
    line(fmt::format("{} runs are too few to say what this machine resolves.", found.pairs));
  }
  if (found.floor) {
    line(fmt::format("Noise floor: 95 % of the pairs differ by less than {}.",
                     percent_of(*found.floor)));
  }
  const Judgement& judged = found.judgement;
  if (judged.ratio && judged.interval) {
    line(fmt::format("A/A: {} ({}): {}.", change_text(*judged.ratio),
                     interval_text(*judged.interval), said_of_itself(judged.verdict)));
  }
  line("Machine: " + result.environment.klass);
  for (const std::string& doubt : found.doubts) line("Doubt: " + doubt + ".");
  if (found.floor) {
    const bool for_any = found.for_machine;
    const auto key = result.workload.find("noise_key");
    const bool built_in = key != result.workload.end() && key->second == kMachineKey;
    if (for_any || !built_in) {
      line(
          fmt::format("Kept: `bench ab` and `bench run` take it as the floor for {} on such "
                      "machines.",
                      for_any ? "commands without a check of their own" : "this command"));
    }
  }
  return text;
}

std::string selfcheck_json(const BenchResult& result, const Selfcheck& found) {
  std::string text;
  JsonWriter out(text);
  const auto optional = [&](const char* key, const std::optional<double>& value) {
    if (!value) return;
    out.key(key);
    out.number(*value);
  };
  out.begin('{');
  out.key("schema");
  out.text("genscope.selfcheck/1");
  out.key("result");
  out.text(result.id);
  out.key("environment_class");
  out.text(result.environment.klass);
  out.key("pairs");
  out.natural(found.pairs);
  optional("resolves_ratio", found.resolves);
  optional("noise_floor_ratio", found.floor);
  optional("ratio", found.judgement.ratio);
  out.key("verdict");
  out.text(name(found.judgement.verdict));
  out.key("for_machine");
  out.flag(found.for_machine);
  out.key("doubts");
  out.begin('[');
  for (const std::string& doubt : found.doubts) out.text(doubt);
  out.end(']');
  out.end('}');
  return text + "\n";
}

std::uint64_t fixed_work(std::uint64_t rounds) {
  std::vector<std::uint64_t> table(std::size_t{1} << 17);  // 1 MiB: beyond most first-level caches
  std::uint64_t state = 0x9E3779B97F4A7C15u, sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < table.size(); ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      std::uint64_t& place = table[state & (table.size() - 1)];
      place += state;
      sum += place;
    }
  }
  return sum;
}

}  // namespace genscope::bench
