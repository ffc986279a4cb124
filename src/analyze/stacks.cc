// Three steps for each process:
//
//   1. Which stage is open on a thread, and whether any is open in the process, changes only where
//      a span begins or ends. Both become lists of stretches in the order of time.
//   2. Each sampled stretch is cut at these; its CPU time goes to the parts by their length. Parts
//      are summed by thread, stage and stack, of which there are few.
//   3. The sums are laid into one tree and one table of functions for all processes.
#include "analyze/stacks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "analyze/rows.h"
#include "analyze/time.h"
#include "trace/stacks.h"

namespace genscope::analysis {
namespace {

struct Weight {
  std::int64_t wall = 0, cpu = 0, outside = 0;

  void add(const Weight& more) {
    wall = analysis::add(wall, more.wall);
    cpu = analysis::add(cpu, more.cpu);
    outside = analysis::add(outside, more.outside);
  }
};

// From `begin` to the begin of the next one `span` is the innermost stage; kNone: none is open.
struct Change {
  std::int64_t begin = kEarliest;
  std::uint32_t span = kNone;
};
using Changes = std::vector<Change>;

// The stages of a thread nest, so that a stack follows them.
Changes innermost_of(const Trace& trace, std::vector<std::uint32_t> spans) {
  std::stable_sort(spans.begin(), spans.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.spans.begin_ns[a] < trace.spans.begin_ns[b];
  });
  Changes changes = {{}};
  std::vector<std::pair<std::uint32_t, std::int64_t>> open;  // span, end
  const auto close_until = [&](std::int64_t time) {
    while (!open.empty() && open.back().second <= time) {
      const std::int64_t end = open.back().second;
      open.pop_back();
      changes.push_back({end, open.empty() ? kNone : open.back().first});
    }
  };
  for (const std::uint32_t span : spans) {
    const Interval time = interval(trace.spans.begin_ns[span], trace.spans.duration_ns[span]);
    close_until(time.begin);
    std::int64_t end = time.end;
    if (!open.empty()) end = std::min(end, open.back().second);
    open.emplace_back(span, end);
    changes.push_back({time.begin, span});
  }
  close_until(kLatest);
  return changes;
}

// When any stage of the process is open: `span` is 0 then.
Changes covered_of(const Trace& trace, const std::vector<std::uint32_t>& spans) {
  std::vector<Interval> all;
  for (const std::uint32_t span : spans) {
    all.push_back(interval(trace.spans.begin_ns[span], trace.spans.duration_ns[span]));
  }
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Changes changes = {{}};
  std::int64_t end = kEarliest;
  for (const Interval& one : all) {
    if (one.begin > end || changes.size() == 1) {
      if (changes.size() > 1) changes.push_back({end, kNone});
      changes.push_back({one.begin, 0});
      end = one.end;
    }
    end = std::max(end, one.end);
  }
  if (changes.size() > 1) changes.push_back({end, kNone});
  return changes;
}

// act(span, part) for each part of `whole` between changes.
template <class Act>
void cut(const Changes& changes, Interval whole, Act&& act) {
  auto at = std::upper_bound(changes.begin(), changes.end(), whole.begin,
                             [](std::int64_t t, const Change& change) { return t < change.begin; });
  --at;  // the first one begins before all times
  while (whole.begin < whole.end) {
    const auto next = at + 1;
    const std::int64_t end =
        next == changes.end() ? whole.end : std::clamp(next->begin, whole.begin, whole.end);
    if (end > whole.begin) act(at->span, Interval{whole.begin, end});
    whole.begin = end;
    if (next == changes.end()) break;
    at = next;
  }
}

// Of a stack, from the innermost function: recorders stop sooner, and a damaged trace costs no
// more.
constexpr std::size_t kMostDepth = 512;

bool is_import(std::string_view file) { return file.starts_with("<frozen importlib"); }

class Builder {
 public:
  void add(const Trace& trace) {
    const trace::Stacks stacks = trace::read_stacks(trace);
    if (stacks.stretches.empty() && stacks.stopped.empty()) return;
    ++out_.processes;
    out_.rate = std::max(out_.rate, stacks.rate);
    out_.period_ns = std::max(out_.period_ns, stacks.period_ns);
    out_.own_cpu_ns = analysis::add(out_.own_cpu_ns, stacks.own_cpu_ns);
    out_.late += stacks.late;
    out_.late_ns = analysis::add(out_.late_ns, stacks.late_ns);
    out_.folded += stacks.folded;
    out_.left_out += stacks.left_out;
    if (!stacks.stopped.empty() &&
        std::find(out_.stopped.begin(), out_.stopped.end(), stacks.stopped) == out_.stopped.end()) {
      out_.stopped.push_back(stacks.stopped);
    }
    find_functions(stacks);
    sum(trace, stacks);
    lay(trace, stacks);
  }

  Sampled take() {
    finish_functions();
    arrange();
    return std::move(out_);
  }

 private:
  // By thread, stage (a span, or kNone) and stack.
  using Sums = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Weight>;

  void find_functions(const trace::Stacks& stacks) {
    function_of_frame_.clear();
    for (const trace::StackFrame& frame : stacks.frames) {
      const bool import = is_import(frame.file);
      std::string key = import ? std::string(kImports)
                               : frame.name + '\n' + frame.file + '\n' + std::to_string(frame.line);
      const auto [found, is_new] =
          functions_.try_emplace(std::move(key), static_cast<std::uint32_t>(out_.functions.size()));
      if (is_new) {
        SampledFunction row;
        row.name = import ? std::string(kImports) : frame.name;
        if (!import) {
          row.file = frame.file;
          row.line = frame.line;
        }
        out_.functions.push_back(std::move(row));
      }
      function_of_frame_.push_back(found->second);
    }
  }

  void sum(const Trace& trace, const trace::Stacks& stacks) {
    sums_.clear();
    std::map<std::uint32_t, std::vector<std::uint32_t>> spans_of;  // by tid: those of its stack
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
      if (!holds_stages(trace.kind(i))) continue;
      all.push_back(i);
      const std::uint32_t tid = trace.tracks[trace.spans.track[i]].tid;
      if ((trace.spans.flags[i] & kSpanDetached) == 0 && tid != 0) spans_of[tid].push_back(i);
    }
    const Changes covered = covered_of(trace, all);
    std::map<std::uint32_t, Changes> innermost;
    for (const trace::StackStretch& stretch : stacks.stretches) {
      out_.samples += stretch.samples;
      out_.cpu_ns = analysis::add(out_.cpu_ns, stretch.cpu_ns);
      const Interval whole{stretch.begin_ns, stretch.end_ns};
      const auto [changes, is_new] = innermost.try_emplace(stretch.tid);
      if (is_new) changes->second = innermost_of(trace, spans_of[stretch.tid]);
      const double cpu_ratio = whole.length() > 0 ? static_cast<double>(stretch.cpu_ns) /
                                                        static_cast<double>(whole.length())
                                                  : 0;
      cut(changes->second, whole, [&](std::uint32_t span, Interval part) {
        Weight weight;
        weight.wall = part.length();
        weight.cpu = nearest_ns(cpu_ratio * static_cast<double>(part.length()));
        cut(covered, part, [&](std::uint32_t open, Interval piece) {
          if (open == kNone) weight.outside = analysis::add(weight.outside, piece.length());
        });
        sums_[{stretch.tid, span, stretch.node}].add(weight);
      });
    }
  }

  void lay(const Trace& trace, const trace::Stacks& stacks) {
    std::map<std::uint32_t, std::uint32_t> node_of_tid;
    for (const auto& [key, weight] : sums_) {
      const auto& [tid, span, stack] = key;
      const bool main = tid == trace.process.pid;
      const auto [thread, is_new] = node_of_tid.try_emplace(tid, kNone);
      if (is_new) {
        thread->second =
            child(kNone, SampledNode::Kind::thread, thread_name(trace, stacks, tid), kNone);
        ++out_.threads;
      }
      path_.assign(1, thread->second);
      enter_stage(trace, span);
      enter_functions(stacks, stack);
      spread(weight, main);
      if (!main) continue;
      out_.main_ns = analysis::add(out_.main_ns, weight.wall);
      out_.outside_ns = analysis::add(out_.outside_ns, weight.outside);
    }
  }

  static std::string thread_name(const Trace& trace, const trace::Stacks& stacks,
                                 std::uint32_t tid) {
    std::string name;
    for (const trace::StackThread& thread : stacks.threads) {
      if (thread.tid == tid && !thread.name.empty()) name = thread.name;
    }
    if (name.empty()) name = tid == trace.process.pid ? "main thread" : "thread";
    return name + " (" + std::to_string(trace.process.pid) +
           (tid == trace.process.pid ? "" : "/" + std::to_string(tid)) + ")";
  }

  void enter_stage(const Trace& trace, std::uint32_t span) {
    std::vector<std::uint32_t> outer;
    for (std::uint32_t at = span; at != kNone && at < trace.spans.size();) {
      if (holds_stages(trace.kind(at))) outer.push_back(at);
      const std::uint32_t parent = trace.spans.parent[at];
      at = parent < at ? parent : kNone;  // a parent comes before its children
    }
    for (std::size_t i = outer.size(); i-- > 0;) {
      const Name& name = trace.names[trace.spans.name[outer[i]]];
      path_.push_back(child(path_.back(), SampledNode::Kind::stage, name.text, kNone));
    }
  }

  void enter_functions(const trace::Stacks& stacks, std::uint32_t stack) {
    called_.clear();
    for (std::uint32_t at = stack; at != kNone && called_.size() < kMostDepth;
         at = stacks.nodes[at].parent) {
      called_.push_back(function_of_frame_[stacks.nodes[at].frame]);
    }
    std::uint32_t above = kNone;
    for (std::size_t i = called_.size(); i-- > 0;) {
      if (called_[i] == above) continue;
      above = called_[i];
      path_.push_back(child(path_.back(), SampledNode::Kind::function, "", above));
    }
  }

  std::uint32_t child(std::uint32_t parent, SampledNode::Kind kind, const std::string& name,
                      std::uint32_t function) {
    const auto [found, is_new] = index_.try_emplace(std::tuple(parent, kind, name, function),
                                                    static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) {
      SampledNode& node = nodes_.emplace_back();
      node.kind = kind;
      node.parent = parent;
      node.name = name;
      if (function != kNone) {
        const SampledFunction& row = out_.functions[function];
        node.name = row.name;
        node.file = row.file;
        node.line = row.line;
      }
    }
    return found->second;
  }

  void spread(const Weight& weight, bool main) {
    for (const std::uint32_t node : path_) {
      nodes_[node].wall_ns = analysis::add(nodes_[node].wall_ns, weight.wall);
      nodes_[node].cpu_ns = analysis::add(nodes_[node].cpu_ns, weight.cpu);
    }
    if (called_.empty()) return;
    SampledFunction& inner = out_.functions[called_.front()];
    inner.self_cpu_ns = analysis::add(inner.self_cpu_ns, weight.cpu);
    if (main) {
      inner.self_ns = analysis::add(inner.self_ns, weight.wall);
      inner.outside_ns = analysis::add(inner.outside_ns, weight.outside);
    }
    std::sort(called_.begin(), called_.end());
    called_.erase(std::unique(called_.begin(), called_.end()), called_.end());
    for (const std::uint32_t function : called_) {
      SampledFunction& row = out_.functions[function];
      row.total_cpu_ns = analysis::add(row.total_cpu_ns, weight.cpu);
      if (main) row.total_ns = analysis::add(row.total_ns, weight.wall);
    }
  }

  void finish_functions() {
    auto& rows = out_.functions;
    std::erase_if(rows, [](const SampledFunction& row) {
      return row.total_ns == 0 && row.total_cpu_ns == 0;
    });
    std::stable_sort(
        rows.begin(), rows.end(), [](const SampledFunction& a, const SampledFunction& b) {
          return analysis::add(a.self_ns, a.self_cpu_ns) > analysis::add(b.self_ns, b.self_cpu_ns);
        });
    if (rows.size() > kMaxNamedRows) rows.resize(kMaxNamedRows);
  }

  // The largest nodes, children after their parents; what is left out is their parents' own.
  void arrange() {
    for (SampledNode& node : nodes_) {
      node.self_wall_ns = node.wall_ns;
      node.self_cpu_ns = node.cpu_ns;
    }
    std::vector<std::uint32_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto weight = [&](std::uint32_t i) {
      return analysis::add(nodes_[i].wall_ns, nodes_[i].cpu_ns);
    };
    // A parent weighs no less than its children and was made before them.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return weight(a) > weight(b); });
    if (order.size() > kMaxSampledNodes) {
      out_.nodes_left_out = order.size() - kMaxSampledNodes;
      order.resize(kMaxSampledNodes);
    }
    std::vector<std::vector<std::uint32_t>> children(nodes_.size() + 1);
    for (const std::uint32_t i : order) {
      const std::uint32_t parent = nodes_[i].parent;
      children[parent == kNone ? nodes_.size() : parent].push_back(i);
      if (parent == kNone) continue;
      SampledNode& above = nodes_[parent];
      above.self_wall_ns = subtract(above.self_wall_ns, nodes_[i].wall_ns);
      above.self_cpu_ns = subtract(above.self_cpu_ns, nodes_[i].cpu_ns);
    }
    for (auto& siblings : children) {
      std::stable_sort(siblings.begin(), siblings.end(), [&](std::uint32_t a, std::uint32_t b) {
        return nodes_[a].wall_ns > nodes_[b].wall_ns;
      });
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> next;  // node, place of its parent
    const auto push = [&](std::size_t list, std::uint32_t parent) {
      for (std::size_t i = children[list].size(); i-- > 0;) {
        next.emplace_back(children[list][i], parent);
      }
    };
    push(nodes_.size(), kNone);
    while (!next.empty()) {
      const auto [node, parent] = next.back();
      next.pop_back();
      const auto place = static_cast<std::uint32_t>(out_.nodes.size());
      out_.nodes.push_back(std::move(nodes_[node]));
      out_.nodes.back().parent = parent;
      push(node, place);
    }
  }

  Sampled out_;
  std::unordered_map<std::string, std::uint32_t> functions_;
  std::vector<std::uint32_t> function_of_frame_;  // of this trace
  Sums sums_;                                     // of this trace
  std::map<std::tuple<std::uint32_t, SampledNode::Kind, std::string, std::uint32_t>, std::uint32_t>
      index_;
  std::vector<SampledNode> nodes_;
  std::vector<std::uint32_t> path_, called_;
};

}  // namespace

Sampled summarize_stacks(const Run& run) {
  Builder builder;
  for (const Trace& trace : run.traces) builder.add(trace);
  return builder.take();
}

}  // namespace genscope::analysis
