// Spans of one thread, known by begin and end only, become stacks.
#pragma once

#include <cstdint>
#include <vector>

#include "genscope/trace.h"

namespace genscope::store {

// The end of a slice that has none: it holds all that begins later. Larger than any time.
inline constexpr std::int64_t kOpenEnd = std::int64_t{1} << 62;

struct Slice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t span = 0;
};

// A stack that holds part of a thread's slices: the first takes what nests, each further one what
// overlaps all before it.
struct NestLevel {
  std::vector<Slice> slices;           // ascending by begin, outer ones first
  std::vector<std::uint32_t> parents;  // of each: a Slice::span, or kNone
  bool loose = false;                  // the last one: they may overlap, and have no parents
};

struct Nested {
  std::vector<NestLevel> levels;
  std::uint64_t trimmed = 0;
};

// Nothing is lost: what fits on none of kMaxStacks stacks goes to a loose level. An end beyond
// the enclosing one's by up to `tolerance_ns` is taken for rounding and cut to it.
inline constexpr std::size_t kMaxStacks = 32;
Nested nest(std::vector<Slice> slices, std::int64_t tolerance_ns);

// The innermost slice of a level that is no loose one, for each time of `at_ns` (ascending), or
// kNone. A slice holds its begin and its end.
std::vector<std::uint32_t> enclosing(const NestLevel& level,
                                     const std::vector<std::int64_t>& at_ns);

}  // namespace genscope::store
