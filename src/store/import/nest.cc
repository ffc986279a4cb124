// Slices sorted by begin, longest first, are laid on the first stack on which they nest: what has
// ended by their begin is popped, and the top must reach to their end. This is the order of a
// depth-first walk, so the top of a stack is the innermost slice around the next one, and its
// parent.
//
// A file's clock rounds, so a child may stick out of its parent by up to the tolerance: it is cut
// to fit. What truly overlaps goes to the next stack, a track beside the thread's. O(n log n) for
// the sort and O(n s) for s stacks, at most kMaxStacks; beyond those slices are left loose, without
// parents, instead of making a track for each.
#include "store/import/nest.h"

#include <algorithm>

namespace genscope::store {
namespace {

struct Open {
  std::int64_t end_ns;
  std::uint32_t span;
};

class Stack {
 public:
  // Places the slice if it fits; may cut its end.
  bool place(Slice& slice, std::int64_t tolerance_ns, NestLevel& level, std::uint64_t& trimmed) {
    while (!open_.empty() && open_.back().end_ns <= slice.begin_ns) open_.pop_back();
    if (!open_.empty() && open_.back().end_ns < slice.end_ns) {
      if (slice.end_ns - open_.back().end_ns > tolerance_ns) return false;
      slice.end_ns = open_.back().end_ns;
      trimmed++;
    }
    level.parents.push_back(open_.empty() ? kNone : open_.back().span);
    level.slices.push_back(slice);
    open_.push_back({slice.end_ns, slice.span});
    return true;
  }

 private:
  std::vector<Open> open_;
};

void sort(std::vector<Slice>& slices) {
  const auto before = [](const Slice& a, const Slice& b) {
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    return a.span < b.span;
  };
  if (!std::is_sorted(slices.begin(), slices.end(), before)) {
    std::sort(slices.begin(), slices.end(), before);
  }
}

}  // namespace

Nested nest(std::vector<Slice> slices, std::int64_t tolerance_ns) {
  sort(slices);
  Nested out;
  std::vector<Stack> stacks(1);
  out.levels.resize(1);
  out.levels[0].slices.reserve(slices.size());
  out.levels[0].parents.reserve(slices.size());
  for (Slice& slice : slices) {
    std::size_t i = 0;
    while (i < stacks.size() && !stacks[i].place(slice, tolerance_ns, out.levels[i], out.trimmed)) {
      ++i;
    }
    if (i < stacks.size()) continue;
    if (stacks.size() < kMaxStacks) {
      stacks.emplace_back();
      out.levels.emplace_back();
      stacks.back().place(slice, tolerance_ns, out.levels.back(), out.trimmed);
      continue;
    }
    if (out.levels.size() == kMaxStacks) out.levels.emplace_back().loose = true;
    out.levels.back().slices.push_back(slice);
    out.levels.back().parents.push_back(kNone);
  }
  return out;
}

std::vector<std::uint32_t> enclosing(const NestLevel& level,
                                     const std::vector<std::int64_t>& at_ns) {
  std::vector<std::uint32_t> out;
  out.reserve(at_ns.size());
  std::vector<Open> open;
  std::size_t next = 0;
  for (const std::int64_t at : at_ns) {
    for (; next < level.slices.size() && level.slices[next].begin_ns <= at; ++next) {
      const Slice& slice = level.slices[next];
      while (!open.empty() && open.back().end_ns <= slice.begin_ns) open.pop_back();
      open.push_back({slice.end_ns, slice.span});
    }
    while (!open.empty() && open.back().end_ns < at) open.pop_back();
    out.push_back(open.empty() ? kNone : open.back().span);
  }
  return out;
}

}  // namespace genscope::store
