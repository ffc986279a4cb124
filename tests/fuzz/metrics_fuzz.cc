// Counters and stages of any name, processes of any number: what comes out for Prometheus passes a
// strict reader, whatever bytes they are called.
#include "check_trace.h"
#include "input.h"
#include "serve/metrics.h"
#include "testing/exposition.h"
#include "trace/sample_names.h"

namespace {

using genscope::fuzz::Input;

std::string text_of(Input& input) {
  const auto bytes = input.bytes(input.take<std::uint8_t>() % 32);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Half of them are called like samples of probes.
std::string counter_of(Input& input) {
  const auto pick = input.take<std::uint8_t>();
  const auto metrics = genscope::all_metrics();
  std::string name = text_of(input);
  if (pick % 2 == 0) name += "/" + std::string(metrics[pick / 2 % metrics.size()].id);
  return name;
}

genscope::Progress::Process process_of(Input& input) {
  genscope::Progress::Process p;
  p.pid = input.take<std::uint8_t>() % 4;
  const auto has = input.take<std::uint8_t>();
  p.alive = (has & 1) != 0;
  if ((has & 2) != 0) p.rank = input.take<std::int8_t>();
  if ((has & 4) != 0) p.stage = text_of(input);
  if ((has & 8) != 0) p.steps_total = input.take<std::uint64_t>();
  if ((has & 16) != 0) p.step_seconds = input.take<double>();
  if ((has & 32) != 0) p.eta_seconds = input.take<double>();
  p.dropped_spans = input.take<std::uint64_t>();
  for (std::size_t n = input.take<std::uint8_t>() % 16; n > 0; --n) {
    const std::string name = counter_of(input);
    genscope::Progress::Value value{.counter = name, .value = input.take<double>()};
    const genscope::trace::SampleName parts = genscope::trace::split_sample_name(name);
    const genscope::trace::OwnMetric own{"1", name.size() % 2 == 0 ? "gauge" : "counter", name};
    if (!parts.metric.empty()) value.metric = genscope::trace::metric_of(parts.metric, &own);
    value.entity = parts.entity;
    p.values.push_back(std::move(value));
  }
  return p;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  std::vector<genscope::serve::MeasuredRun> runs;
  while (input.left() > 0 && runs.size() < 4) {
    auto progress = std::make_shared<genscope::Progress>();
    std::string id = text_of(input) + std::to_string(runs.size());  // as of folders: no two alike
    for (std::size_t n = input.take<std::uint8_t>() % 4; n > 0; --n) {
      progress->processes.push_back(process_of(input));
    }
    runs.push_back({std::move(id), progress->processes.empty() ? nullptr : progress});
  }
  const std::string text = genscope::serve::metrics_text(runs, {});
  const std::string problem = genscope::testing::Exposition::problem_of(text);
  if (!problem.empty()) std::fprintf(stderr, "%s\n", problem.c_str());
  GENSCOPE_FUZZ_CHECK(problem.empty());
  return 0;
}
