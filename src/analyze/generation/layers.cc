// Layers are told as events (Inferix), or are spans of functions with their `parameters`. Shares
// are of the time of all layers, to which a layer within another adds nothing: for that the nearest
// layer around each is looked up, along its parents.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <genscope/analyze.h>

#include "analyze/generation/generation.h"
#include "analyze/generation/keys.h"
#include "analyze/generation/roles.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

class Table {
 public:
  void add_call(std::string_view name, std::int64_t duration_ns, std::optional<double> parameters) {
    LayerRow& row = row_of(name);
    ++row.count;
    row.total_ns = add(row.total_ns, duration_ns);
    row.max_ns = std::max(row.max_ns, duration_ns);
    if (parameters) row.parameters = parameters;
  }
  void add_to_all(std::int64_t duration_ns) { all_ns_ = add(all_ns_, duration_ns); }

  std::vector<LayerRow> finish() {
    for (LayerRow& row : rows_) {
      row.mean_ns = static_cast<double>(row.total_ns) / static_cast<double>(row.count);
      if (all_ns_ > 0) row.share = static_cast<double>(row.total_ns) / static_cast<double>(all_ns_);
    }
    std::sort(rows_.begin(), rows_.end(), [](const LayerRow& a, const LayerRow& b) {
      return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
    });
    if (rows_.size() > kMaxNamedRows) fold();
    return std::move(rows_);
  }

 private:
  void fold() {
    LayerRow others;
    others.name = kOthers;
    others.folded = rows_.size() - kMaxNamedRows;
    for (std::size_t i = kMaxNamedRows; i < rows_.size(); ++i) {
      others.count += rows_[i].count;
      others.total_ns = add(others.total_ns, rows_[i].total_ns);
      others.max_ns = std::max(others.max_ns, rows_[i].max_ns);
      others.share += rows_[i].share;
    }
    others.mean_ns = static_cast<double>(others.total_ns) / static_cast<double>(others.count);
    rows_.resize(kMaxNamedRows);
    rows_.push_back(std::move(others));
  }
  // Layers come in turns, so that the row after the last one is the likely one; else by hash.
  LayerRow& row_of(std::string_view name) {
    if (++last_ >= rows_.size()) last_ = 0;
    if (last_ < rows_.size() && rows_[last_].name == name) return rows_[last_];
    const auto [at, is_new] = known_.try_emplace(std::string(name), rows_.size());
    if (is_new) rows_.emplace_back().name = name;
    last_ = at->second;
    return rows_[last_];
  }
  std::vector<LayerRow> rows_;
  std::unordered_map<std::string, std::size_t> known_;
  std::size_t last_ = 0;
  std::int64_t all_ns_ = 0;
};

// False if the trace has no such event.
bool add_events(const Trace& trace, Table& table) {
  const std::vector<EventRole> roles = event_roles(trace);
  ArgCursor args(trace, trace.event_args);
  bool any = false;
  for (std::size_t e = 0; e < trace.events.size(); ++e) {
    if (roles[trace.events.name[e]] != EventRole::layer) continue;
    args.seek(e);
    const std::optional<double> ms = args.amount(Key::ms);
    const std::string_view name = args.text(Key::name);
    if (!ms || name.empty()) continue;
    any = true;
    table.add_call(name, from_ms(*ms), args.amount(Key::parameters));
    table.add_to_all(from_ms(*ms));
  }
  return any;
}

void add_spans(const Trace& trace, Table& table) {
  const bool may_have = std::any_of(trace.names.begin(), trace.names.end(),
                                    [](const Name& name) { return name.text == "parameters"; });
  if (!may_have) return;
  const SpanColumns& spans = trace.spans;
  ArgCursor args(trace, trace.span_args);
  std::vector<bool> is_layer(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (trace.kind(i) != SpanKind::function) continue;
    args.seek(i);
    const std::optional<double> parameters = args.amount(Key::parameters);
    if (!parameters || (spans.flags[i] & kSpanUnfinished) != 0) continue;
    is_layer[i] = true;
    const std::int64_t duration = interval(spans.begin_ns[i], spans.duration_ns[i]).length();
    table.add_call(trace.span_name(i), duration, parameters);
    const std::uint32_t outer =
        nearest_around(trace, i, [&](std::uint32_t s) -> bool { return is_layer[s]; });
    if (outer == kNone) table.add_to_all(duration);
  }
}

}  // namespace

Layers layer_table(const Run& run) {
  Table table;
  Layers layers;
  for (const Trace& trace : run.traces) {
    const bool told = add_events(trace, table);
    layers.told |= told;
    if (!told) add_spans(trace, table);
  }
  layers.rows = table.finish();
  return layers;
}

}  // namespace genscope::analysis
