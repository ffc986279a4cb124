// A span has the shape of its parent, with what it says itself put over it: arguments of sessions,
// requests, batches, blocks and steps. What an event "config" tells holds for the requests, and the
// spans without a parent, that begin after it. Most runs have one value of each key: that takes one
// pass over the arguments and no memory.
#include "analyze/compare/shapes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyze/compare/setting_place.h"
#include "analyze/settings.h"
#include "trace/arguments.h"

namespace genscope::analysis {
namespace {

using Shape = std::map<std::string, std::string>;

// The key under which it is compared, if it says how much work a step is; else empty.
std::string shape_key(const std::string& key) {
  SettingPlace place = place_of(key);
  const bool counts = place.place == Place::workload && place.decisive;
  // How many steps or images there are makes a step no longer.
  if (!counts || place.key == "steps" || place.key == "images" || place.key == "training") {
    return "";
  }
  return std::move(place.key);
}

bool may_say(SpanKind kind) {
  return kind == SpanKind::session || kind == SpanKind::request || kind == SpanKind::batch ||
         kind == SpanKind::block || kind == SpanKind::step;
}

struct Told {
  std::int64_t at_ns;
  std::string key, value;
};
struct Since {  // what the events have told so far
  std::int64_t at_ns;
  Shape shape;
};
std::vector<Since> changes_of(std::vector<Told> told) {
  std::stable_sort(told.begin(), told.end(),
                   [](const Told& a, const Told& b) { return a.at_ns < b.at_ns; });
  std::vector<Since> changes;
  Shape now;
  for (Told& each : told) {
    std::string& value = now[each.key];
    if (value == each.value) continue;
    value = std::move(each.value);
    changes.push_back({each.at_ns, now});
  }
  return changes;
}

// Calls `visit(owner, key, value)` for the arguments that are part of a shape.
template <class Wanted, class Visit>
void each_argument(const Trace& trace, const ArgColumns& args, Wanted&& wanted, Visit&& visit) {
  std::vector<std::optional<std::string>> keys(trace.names.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::optional<std::string>& key = keys[args.key[i]];
    if (!key) key = shape_key(trace.names[args.key[i]].text);
    if (key->empty() || !wanted(args.owner[i])) continue;
    const auto value = trace::argument_at(trace, args, i);
    if (value) visit(args.owner[i], *key, setting_text(*value));
  }
}

template <class Visit>
void each_of_spans(const Trace& trace, Visit&& visit) {
  each_argument(
      trace, trace.span_args, [&](std::uint32_t span) { return may_say(trace.kind(span)); }, visit);
}

template <class Visit>
void each_of_events(const Trace& trace, Visit&& visit) {
  each_argument(
      trace, trace.event_args,
      [&](std::uint32_t event) { return trace.names[trace.events.name[event]].text == "config"; },
      visit);
}

std::set<std::string> mixed_keys(const Run& run) {
  std::map<std::string, std::set<std::string>> values;
  const auto note = [&](std::uint32_t, const std::string& key, std::string value) {
    std::set<std::string>& known = values[key];
    if (known.size() <= Shapes::kMostValues) known.insert(std::move(value));
  };
  for (const Trace& trace : run.traces) {
    each_of_spans(trace, note);
    each_of_events(trace, note);
  }
  std::set<std::string> mixed;
  for (const auto& [key, known] : values) {
    if (known.size() > 1 && known.size() <= Shapes::kMostValues) mixed.insert(key);
  }
  return mixed;
}

std::string text_of_shape(const Shape& shape) {
  std::string text;
  for (const auto& [key, value] : shape) {
    text += (text.empty() ? "" : ", ") + key + " " + value;
  }
  return text;
}

class Assigner {
 public:
  Assigner(const Trace& trace, const std::set<std::string>& mixed, std::vector<std::string>& texts,
           std::map<Shape, std::uint32_t>& known)
      : trace_(trace), mixed_(mixed), texts_(texts), known_(known) {}

  std::vector<std::uint32_t> assign() {
    each_of_spans(trace_, [&](std::uint32_t span, const std::string& key, std::string value) {
      if (mixed_.contains(key)) own_[span][key] = std::move(value);
    });
    std::vector<Told> told;
    each_of_events(trace_, [&](std::uint32_t event, const std::string& key, std::string value) {
      if (mixed_.contains(key)) told.push_back({trace_.events.at_ns[event], key, std::move(value)});
    });
    told_ = changes_of(std::move(told));
    shape_.assign(trace_.spans.size(), kNone);
    for (std::uint32_t span = 0; span < shape_.size(); ++span) resolve(span);
    return std::move(shape_);
  }

 private:
  // Up to what is known, then down again: each span is visited once. A parent that is its own
  // ancestor cannot be, but bytes from a file may say so: then the climb ends.
  void resolve(std::uint32_t span) {
    std::vector<std::uint32_t> path;
    while (span < shape_.size() && shape_[span] == kNone && path.size() < kDeepest) {
      path.push_back(span);
      span = trace_.spans.parent[span];
    }
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      const std::uint32_t parent = trace_.spans.parent[*it];
      const bool has_parent = parent < shape_.size() && shape_[parent] != kNone;
      shape_[*it] = shape_of(*it, has_parent ? shape_[parent] : 0, has_parent);
    }
  }

  std::uint32_t shape_of(std::uint32_t span, std::uint32_t inherited, bool has_parent) {
    const bool asks = !has_parent || trace_.kind(span) == SpanKind::request;
    const auto own = own_.find(span);
    if (own == own_.end() && (!asks || told_.empty())) return inherited;
    Shape shape = shapes_.contains(inherited) ? shapes_[inherited] : Shape{};
    if (asks) {
      const auto next =
          std::upper_bound(told_.begin(), told_.end(), trace_.spans.begin_ns[span],
                           [](std::int64_t at, const Since& change) { return at < change.at_ns; });
      if (next != told_.begin()) {
        for (const auto& [key, value] : std::prev(next)->shape) shape[key] = value;
      }
    }
    if (own != own_.end()) {
      for (const auto& [key, value] : own->second) shape[key] = value;
    }
    if (shape.empty()) return inherited;
    const auto [at, is_new] = known_.try_emplace(shape, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text_of_shape(shape));
    shapes_[at->second] = std::move(shape);
    return at->second;
  }

  static constexpr std::size_t kDeepest = 1'000'000;
  const Trace& trace_;
  const std::set<std::string>& mixed_;
  std::vector<std::string>& texts_;
  std::map<Shape, std::uint32_t>& known_;
  std::map<std::uint32_t, Shape> own_;
  std::map<std::uint32_t, Shape> shapes_;
  std::vector<Since> told_;
  std::vector<std::uint32_t> shape_;
};

}  // namespace

Shapes::Shapes(const Run& run) {
  const std::set<std::string> mixed = mixed_keys(run);
  if (mixed.empty()) return;
  std::map<Shape, std::uint32_t> known;
  for (const Trace& trace : run.traces) {
    of_span_.push_back(Assigner(trace, mixed, texts_, known).assign());
  }
}

}  // namespace genscope::analysis
