// One pass over the events. Ids are small and dense when we wrote them; a damaged trace may hold
// any, so they are looked up, and a node whose parent is not known yet cannot make a circle.
#include "trace/stacks.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "trace/event_arguments.h"

namespace genscope::trace {
namespace {

constexpr std::int64_t kUs = 1000;
constexpr double kLongest = 9e15;  // of a number of microseconds: a hundred years

class StackDecoder {
 public:
  explicit StackDecoder(const Trace& trace) : trace_(trace) {}

  Stacks decode() {
    each_sampler_event(trace_,
                       [&](std::int64_t at_ns, std::string_view what, const EventArguments& args) {
                         if (what == "stack") {
                           read_stretch(at_ns, args);
                         } else if (what == "frame") {
                           read_frame(args);
                         } else if (what == "node") {
                           read_node(args);
                         } else if (what == "thread") {
                           read_thread(args);
                         } else if (what == "stacks") {
                           read_state(args);
                         }
                       });
    return std::move(out_);
  }

 private:
  static std::uint64_t whole(const EventArguments& args, std::string_view key) {
    return static_cast<std::uint64_t>(std::clamp(args.number(key).value_or(0), 0.0, kLongest));
  }
  static std::uint32_t number(const EventArguments& args, std::string_view key) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(whole(args, key), kNone - 1));
  }
  static std::int64_t ns(const EventArguments& args, std::string_view key) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(whole(args, key), 9'000'000'000'000)) *
           kUs;
  }

  void read_frame(const EventArguments& args) {
    const auto place = static_cast<std::uint32_t>(out_.frames.size());
    if (!frames_.try_emplace(number(args, "id"), place).second) return;
    out_.frames.push_back(
        {std::string(args.text("name")), std::string(args.text("file")), number(args, "line")});
  }

  void read_node(const EventArguments& args) {
    const auto frame = frames_.find(number(args, "frame"));
    const std::uint32_t parent = number(args, "parent");
    const auto above = nodes_.find(parent);
    if (frame == frames_.end() || (parent != 0 && above == nodes_.end())) return;
    const auto place = static_cast<std::uint32_t>(out_.nodes.size());
    if (!nodes_.try_emplace(number(args, "id"), place).second) return;
    out_.nodes.push_back({parent == 0 ? kNone : above->second, frame->second});
  }

  void read_thread(const EventArguments& args) {
    out_.threads.push_back({number(args, "tid"), std::string(args.text("name"))});
  }

  void read_stretch(std::int64_t at_ns, const EventArguments& args) {
    StackStretch stretch;
    // Unsigned, so that any bits of a damaged trace are defined.
    const auto at = static_cast<std::uint64_t>(at_ns);
    stretch.end_ns = static_cast<std::int64_t>(at - static_cast<std::uint64_t>(ns(args, "ago_us")));
    stretch.begin_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(stretch.end_ns) -
                                                 static_cast<std::uint64_t>(ns(args, "us")));
    if (stretch.begin_ns > stretch.end_ns || stretch.end_ns > at_ns) return;
    stretch.cpu_ns = ns(args, "cpu_us");
    stretch.tid = number(args, "tid");
    stretch.samples = whole(args, "samples");
    const auto node = nodes_.find(number(args, "node"));
    if (node != nodes_.end()) stretch.node = node->second;
    out_.stretches.push_back(stretch);
  }

  void read_state(const EventArguments& args) {
    out_.any = true;
    out_.rate = std::clamp(args.number("rate").value_or(0), 0.0, 1e6);
    out_.until_marked = args.flag("until_marked");
    if (!args.number("samples")) return;
    out_.samples = whole(args, "samples");
    out_.late = whole(args, "late");
    out_.late_ns = ns(args, "late_us");
    out_.folded = whole(args, "folded");
    out_.left_out = whole(args, "left_out");
    out_.own_cpu_ns = ns(args, "own_us");
    out_.period_ns = ns(args, "period_us");
    out_.stopped = args.text("stopped");
  }

  const Trace& trace_;
  Stacks out_;
  std::unordered_map<std::uint32_t, std::uint32_t> frames_, nodes_;  // id -> place
};

}  // namespace

Stacks read_stacks(const Trace& trace) { return StackDecoder(trace).decode(); }

}  // namespace genscope::trace
