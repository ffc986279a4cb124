// What the program says in the arguments of its spans and of its event "config".
#include <set>

#include "advise/fact_names.h"
#include "advise/facts/parts.h"
#include "analyze/settings.h"

namespace genscope::advice {
namespace {

bool fits(FactType type, const FactValue& value) {
  switch (type) {
    case FactType::number:
      return std::holds_alternative<double>(value);
    case FactType::flag:
      return std::holds_alternative<bool>(value);
    case FactType::text:
      break;
  }
  return std::holds_alternative<std::string>(value);
}

// "offload" and "set.offload" both mean the fact set.offload; an empty name if there is none.
std::string fact_called(std::string_view key) {
  if (find_fact(key) != nullptr) return std::string(key);
  const std::string setting = "set." + std::string(key);
  return find_fact(setting) != nullptr ? setting : "";
}

// Prompts or files that come a second time.
class Repeats {
 public:
  void see(const std::optional<FactValue>& value) {
    if (!value || !std::holds_alternative<std::string>(*value)) return;
    any_ = true;
    if (!seen_.insert(std::get<std::string>(*value)).second) repeats_ += 1;
  }
  bool any() const noexcept { return any_; }
  double count() const noexcept { return repeats_; }

 private:
  std::set<std::string> seen_;
  bool any_ = false;
  double repeats_ = 0;
};

}  // namespace

void load_facts(const Run& run, Facts& facts) {
  double bytes = 0, seconds = 0;
  for (const Trace& trace : run.traces) {
    Repeats files, prompts;  // another process has to load and encode for itself
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      const SpanKind kind = trace.kind(i);
      if (kind == SpanKind::load) {
        files.see(argument(trace, i, "file"));
        const auto size = argument(trace, i, "bytes");
        if (size && std::holds_alternative<double>(*size)) {
          bytes += std::get<double>(*size);
          seconds += static_cast<double>(trace.spans.duration_ns[i]) / 1e9;
        }
      } else if (kind == SpanKind::stage && stage_key(kind, trace.span_name(i)) == "text_encode") {
        prompts.see(argument(trace, i, "prompt"));
      }
    }
    if (files.any()) facts.set("load.repeats", files.count());
    if (prompts.any()) facts.set("text.repeats", prompts.count());
  }
  if (seconds > 0) facts.set("load.rate", bytes / seconds);
}

void given_facts(const Run& run, Facts& facts) {
  for (const auto& [key, value] : analysis::settings_of(run)) {
    const std::string fact = fact_called(key);
    if (fact.empty()) continue;
    if (fits(find_fact(fact)->type, value)) {
      facts.set(fact, value);
    } else {
      facts.set_missing(
          fact, "the program gave it, but not as " + std::string(name(find_fact(fact)->type)));
    }
  }
}

}  // namespace genscope::advice
