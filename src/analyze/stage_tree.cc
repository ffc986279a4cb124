// Each span of a kind that has nodes finds the nearest such span around it, hence its node. A
// scoped span takes its length from that span's node; what lies in a detached one may overlap, so
// that its union is taken instead.
#include "analyze/stage_tree.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "analyze/rows.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr std::uint32_t kNoNode = kNone;

struct Within {
  std::uint32_t owner = kNone;  // a span
  Interval time;
};

// Sorts by owner and begin; calls done(owner, ns) with the union of what lies within each.
template <class Done>
void unite(std::vector<Within>& parts, Done&& done) {
  std::sort(parts.begin(), parts.end(), [](const Within& a, const Within& b) {
    return std::tuple(a.owner, a.time.begin) < std::tuple(b.owner, b.time.begin);
  });
  for (std::size_t i = 0; i < parts.size();) {
    const std::uint32_t owner = parts[i].owner;
    Coverage coverage;
    std::int64_t sum = 0;
    for (; i < parts.size() && parts[i].owner == owner; ++i) {
      sum = add(sum, coverage.add(parts[i].time));
    }
    done(owner, sum);
  }
}

class TreeBuilder {
 public:
  void add(const Trace& trace, std::int64_t wall_ns) {
    node_of_span_.assign(trace.spans.size(), kNoNode);
    inside_.clear();
    const SpanColumns& spans = trace.spans;
    std::vector<Within> outermost;
    for (std::uint32_t i = 0; i < spans.size(); ++i) {
      const Name& name = trace.names[spans.name[i]];
      const bool node = holds_stages(name.kind);
      const bool finished_step =
          name.kind == SpanKind::step && (spans.flags[i] & kSpanUnfinished) == 0;
      if (!node && !finished_step) continue;
      const std::uint32_t outer = nearest(trace, i);
      if (!node) {
        if (outer != kNone) ++nodes_[node_of_span_[outer]].steps;
        continue;
      }
      const std::uint32_t own = node_of(outer == kNone ? kNoNode : node_of_span_[outer], name);
      node_of_span_[i] = own;
      const Interval time = interval(spans.begin_ns[i], spans.duration_ns[i]);
      StageNode& row = nodes_[own];
      ++row.count;
      row.total_ns = analysis::add(row.total_ns, time.length());
      row.self_ns = analysis::add(row.self_ns, time.length());
      take_from_outer(spans, i, outer, time);
      if (outer == kNone) outermost.push_back({0, time});
    }
    if (outermost.empty()) return;
    unite(inside_, [&](std::uint32_t owner, std::int64_t ns) {
      std::int64_t& self = nodes_[node_of_span_[owner]].self_ns;
      self = subtract(self, ns);
    });
    ++tree_.processes;
    tree_.wall_ns = analysis::add(tree_.wall_ns, wall_ns);
    unite(outermost, [&](std::uint32_t, std::int64_t ns) {
      tree_.outside_ns =
          analysis::add(tree_.outside_ns, std::max<std::int64_t>(0, subtract(wall_ns, ns)));
    });
  }

  StageTree take() {
    arrange();
    return std::move(tree_);
  }

 private:
  // The nearest span around it that has a node; a parent comes before its children.
  std::uint32_t nearest(const Trace& trace, std::uint32_t span) const {
    std::uint32_t outer = trace.spans.parent[span];
    while (outer < span && node_of_span_[outer] == kNoNode) {
      span = outer;
      outer = trace.spans.parent[span];
    }
    return outer < span ? outer : kNone;
  }

  std::uint32_t node_of(std::uint32_t parent, const Name& name) {
    const auto [found, is_new] = index_.try_emplace({parent, name.kind, name.text}, nodes_.size());
    if (!is_new) return found->second;
    if (nodes_.size() >= kMaxNamedRows && name.text != kOthers) {
      index_.erase(found);
      return node_of(kNoNode, {std::string(kOthers), name.kind});
    }
    StageNode& node = nodes_.emplace_back();
    node.name = name.text;
    node.kind = name.kind;
    node.parent = parent;
    return found->second;
  }

  void take_from_outer(const SpanColumns& spans, std::uint32_t span, std::uint32_t outer,
                       Interval time) {
    if (outer == kNone) return;
    const bool beside =
        (spans.flags[span] & kSpanDetached) != 0 || spans.track[span] != spans.track[outer];
    if ((spans.flags[outer] & kSpanDetached) != 0) {
      const Interval whole = interval(spans.begin_ns[outer], spans.duration_ns[outer]);
      const Interval both{std::max(time.begin, whole.begin), std::min(time.end, whole.end)};
      if (both.begin < both.end) inside_.push_back({outer, both});
    } else if (!beside) {
      std::int64_t& self = nodes_[node_of_span_[outer]].self_ns;
      self =
          subtract(self, overlap(time, interval(spans.begin_ns[outer], spans.duration_ns[outer])));
    }
  }

  // Children after their parents, the largest first.
  void arrange() {
    std::vector<std::vector<std::uint32_t>> children(nodes_.size() + 1);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      children[nodes_[i].parent == kNone ? nodes_.size() : nodes_[i].parent].push_back(i);
    }
    for (auto& siblings : children) {
      std::stable_sort(siblings.begin(), siblings.end(), [&](std::uint32_t a, std::uint32_t b) {
        return nodes_[a].total_ns > nodes_[b].total_ns;
      });
    }
    struct Open {
      std::size_t list;
      std::size_t next = 0;
      std::uint32_t parent = kNone;
    };
    std::vector<Open> open = {{nodes_.size()}};
    while (!open.empty()) {
      Open& top = open.back();
      if (top.next == children[top.list].size()) {
        open.pop_back();
        continue;
      }
      const std::uint32_t node = children[top.list][top.next++];
      tree_.nodes.push_back(std::move(nodes_[node]));
      tree_.nodes.back().parent = top.parent;
      open.push_back({node, 0, static_cast<std::uint32_t>(tree_.nodes.size() - 1)});
    }
  }

  std::map<std::tuple<std::uint32_t, SpanKind, std::string>, std::uint32_t> index_;
  std::vector<StageNode> nodes_;
  std::vector<std::uint32_t> node_of_span_;
  std::vector<Within> inside_;
  StageTree tree_;
};

}  // namespace

StageTree stage_tree(const Run& run, std::int64_t wall_ns) {
  TreeBuilder tree;
  for (const Trace& trace : run.traces) tree.add(trace, wall_ns);
  return tree.take();
}

}  // namespace genscope::analysis
