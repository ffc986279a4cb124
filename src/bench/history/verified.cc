#include "bench/history/verified.h"

#include <sys/stat.h>

#include <algorithm>

#include "bench/history/folder.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kLooksBack = 20;  // results of other machines that may stand before ours

SettingEvidence evidence_from(const BenchResult& result, const Comparison& compared,
                              const std::string& rule) {
  const Judgement& judged = compared.judgement;
  SettingEvidence out{rule, std::string(name(judged.verdict)), judged.ratio, {}, {}, result.id};
  if (judged.interval) {
    out.ratio_low = judged.interval->low;
    out.ratio_high = judged.interval->high;
  }
  if (result.quality && result.quality->verdict == "lower_quality") out.verdict = "lower_quality";
  return out;
}

}  // namespace

std::string verify_suite(std::string_view rule) { return "verify:" + std::string(rule); }

std::vector<SettingEvidence> verified_settings(const std::vector<std::string>& rules,
                                               std::string_view environment_class) {
  std::vector<SettingEvidence> out;
  struct stat about {};
  if (::stat(index_path(runs_folder()).c_str(), &about) != 0) return out;
  const Result<Folder> folder = open_folder();
  if (!folder) return out;
  for (const std::string& rule : rules) {
    const auto runs = folder->index.runs(kLooksBack, verify_suite(rule));
    if (!runs) continue;
    const auto ours = std::find_if(runs->begin(), runs->end(), [&](const auto& run) {
      return run.environment_class == environment_class;
    });
    if (ours == runs->end()) continue;
    const Result<BenchResult> result = read_result(result_path(ours->id));
    if (!result) continue;
    const auto latency =
        std::find_if(result->comparisons.begin(), result->comparisons.end(),
                     [](const Comparison& one) { return one.metric == "latency_s"; });
    if (latency != result->comparisons.end()) out.push_back(evidence_from(*result, *latency, rule));
  }
  return out;
}

}  // namespace genscope::bench
