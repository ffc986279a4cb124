// Loads of weights, and what was done a second time: files loaded, prompts encoded. Another process
// has to load and encode for itself, so repeats are counted process by process.
#include <string>
#include <unordered_set>

#include "analyze/generation/generation.h"
#include "analyze/stage_key.h"
#include "analyze/time.h"
#include "trace/arguments.h"

namespace genscope::analysis {
namespace {

// Texts that come a second time.
class Repeats {
 public:
  void see(const std::optional<std::string>& text) {
    if (!text) return;
    any_ = true;
    if (!seen_.insert(*text).second) ++repeats_;
  }
  void add_to(std::optional<std::uint64_t>& sum) const {
    if (any_) sum = sum.value_or(0) + repeats_;
  }

 private:
  std::unordered_set<std::string> seen_;
  bool any_ = false;
  std::uint64_t repeats_ = 0;
};

}  // namespace

LoadSummary summarize_loads(const Run& run) {
  LoadSummary summary;
  double bytes = 0, load_seconds = 0;
  for (const Trace& trace : run.traces) {
    enum class Use : std::uint8_t { none, load, text };
    std::vector<Use> use_of_name;
    bool any = false;
    for (const Name& name : trace.names) {
      const bool text =
          name.kind == SpanKind::stage && stage_key(name.kind, name.text) == "text_encode";
      use_of_name.push_back(name.kind == SpanKind::load ? Use::load : text ? Use::text : Use::none);
      any |= use_of_name.back() != Use::none;
    }
    if (!any || trace.span_args.size() == 0) continue;
    Repeats files, prompts;
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      const Use use = use_of_name[trace.spans.name[i]];
      if (use == Use::text) {
        prompts.see(trace::text_argument(trace, trace.span_args, i, "prompt"));
      } else if (use == Use::load) {
        files.see(trace::text_argument(trace, trace.span_args, i, "file"));
        const auto size = trace::number_argument(trace, trace.span_args, i, "bytes");
        bytes += size.value_or(0);
        if (size) load_seconds += seconds(trace.spans.duration_ns[i]);
      }
    }
    files.add_to(summary.repeats);
    prompts.add_to(summary.prompt_repeats);
  }
  if (load_seconds > 0) summary.bytes_per_second = bytes / load_seconds;
  return summary;
}

}  // namespace genscope::analysis
