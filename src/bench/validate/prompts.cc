#include "bench/validate/prompts.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/file_reader.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kMaxPromptBytes = 64 << 20;

class PromptRunner {
 public:
  PromptRunner(Subject& subject, const PromptOptions& options, const OnSample& tell)
      : subject_(subject), options_(options), tell_(tell), began_ns_(base::monotonic_ns()) {}

  Cell run() {
    cell_.id = "prompts";
    cell_.params = options_.params;
    if (auto failure = subject_.begin(options_.params)) {
      cell_.status = "failed";
      cell_.failure = failure;
      Unit unit;
      unit.failure = std::move(failure);
      cell_.units.push_back(std::move(unit));
      return std::move(cell_);
    }
    for (std::size_t i = 0; i < options_.warmup; ++i) {
      Request request = request_of(0, 0);
      request.warmup = true;
      const Sample sample = subject_.measure(request);
      const auto took = sample.metrics.find("latency_s");
      if (took != sample.metrics.end()) warmup_s_.push_back(took->second);
    }
    rounds();
    subject_.end();
    summarize(cell_);
    return std::move(cell_);
  }

 private:
  std::size_t seeds() const { return std::max<std::size_t>(1, options_.seeds.size()); }
  std::size_t in_a_round() const { return options_.prompts.size() * seeds() * options_.repeat; }

  Request request_of(std::size_t at, std::size_t iteration) const {
    Request request;
    request.iteration = iteration;
    request.params = options_.params;
    request.prompt = options_.prompts[at / seeds() % options_.prompts.size()];
    if (!options_.seeds.empty()) request.seed = options_.seeds[at % seeds()];
    request.timeout_s = options_.timeout_s;
    return request;
  }

  bool time_is_up() const {
    return static_cast<double>(base::monotonic_ns() - began_ns_) * 1e-9 >= *options_.duration_s;
  }

  void rounds() {
    if (options_.prompts.empty()) return;
    std::size_t done = 0;
    do {
      for (std::size_t i = 0; i < in_a_round(); ++i) {
        if (options_.duration_s && done > 0 && time_is_up()) return;
        if (!one(i, done++)) return;
      }
    } while (options_.duration_s);
  }

  // False ends it.
  bool one(std::size_t at, std::size_t done) {
    Unit unit;
    unit.process = unit.order_index = static_cast<std::uint32_t>(done);
    unit.started_unix_ns = base::realtime_ns();
    unit.warmup_s = std::exchange(warmup_s_, {});
    Request request = request_of(at, 0);
    request.unit = unit.process;
    Sample sample = subject_.measure(request);
    if (!sample.failure && options_.check_outputs) {
      for (const std::string& path : sample.outputs) {
        if (!sample.failure) sample.failure = check_output(path);
      }
    }
    const bool cancelled = sample.failure && sample.failure->kind == FailureClass::cancelled;
    unit.samples.push_back(std::move(sample));
    cell_.units.push_back(std::move(unit));
    const Sample& kept = cell_.units.back().samples.back();
    if (cancelled) cell_.units.pop_back();
    if (cancelled || (tell_ && !tell_(kept, done + 1, in_a_round()))) {
      cell_.status = "cancelled";
      cell_.failure = Failure{FailureClass::cancelled, "it was interrupted"};
      return false;
    }
    return true;
  }

  Subject& subject_;
  const PromptOptions& options_;
  const OnSample& tell_;
  const std::int64_t began_ns_;
  std::vector<double> warmup_s_;
  Cell cell_;
};

}  // namespace

Result<std::vector<std::string>> read_prompts(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kMaxPromptBytes);
  if (!text) return text.error();
  std::vector<std::string> prompts;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = base::next_part(rest, '\n');
    while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') line.remove_suffix(1);
    if (!line.empty() && line[0] != '#') prompts.emplace_back(line);
  }
  if (prompts.empty()) {
    return Error{ErrorCode::bad_data, fmt::format("{} has no prompt; write one a line", path)};
  }
  return prompts;
}

Cell run_prompts(Subject& subject, const PromptOptions& options, const OnSample& tell) {
  return PromptRunner(subject, options, tell).run();
}

}  // namespace genscope::bench
