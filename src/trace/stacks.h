// Sampled stacks in a trace: events, written by the Python package (python/src/stacks.cc).
//
//   event genscope.frame    id, name, file, line: a function; ids from 1
//   event genscope.node     id, parent (0: none), frame: a stack, by its innermost frame; ids from
//   1 event genscope.thread   tid, name event genscope.stack    tid, node, us, ago_us, cpu_us,
//   samples: the thread was in that stack for
//                           `us`, up to `ago_us` before this event
//   event genscope.stacks   how the sampling goes; the last one counts
//
// Unlike other samples these are read where they are summed up, so that who does not need them does
// not pay for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "genscope/trace.h"

namespace genscope::trace {

struct StackFrame {        // a function
  std::string name;        // "Loader.read"
  std::string file;        // empty: not of a file
  std::uint32_t line = 0;  // where it begins; 0: not known
};
struct StackNode {
  std::uint32_t parent = kNone;  // a node before it: who calls it; kNone: the outermost
  std::uint32_t frame = 0;
};
// A thread was in one stack all that time, as far as samples can tell.
struct StackStretch {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t cpu_ns = 0;  // that the thread used meanwhile
  std::uint32_t tid = 0;
  std::uint32_t node = kNone;  // kNone: the definition was lost
  std::uint64_t samples = 0;
};
struct StackThread {
  std::uint32_t tid = 0;
  std::string name;  // as the program calls it; may be empty
};

struct Stacks {
  std::vector<StackFrame> frames;
  std::vector<StackNode> nodes;
  std::vector<StackStretch> stretches;  // as recorded: in the order of their ends
  std::vector<StackThread> threads;
  bool any = false;           // a sampler ran
  bool until_marked = false;  // and was to end when the program recorded something itself
  double rate = 0;            // samples a second, as asked for
  std::int64_t period_ns =
      0;  // at the end: longer if sampling would have cost too much; 0: not told
  std::uint64_t samples = 0;
  std::uint64_t late = 0;       // that waited long for Python's lock
  std::int64_t late_ns = 0;     // how long in all
  std::uint64_t folded = 0;     // whose stack was one too many: counted for their callers
  std::uint64_t left_out = 0;   // threads without their turn in a sample
  std::int64_t own_cpu_ns = 0;  // that sampling took
  std::string stopped;          // why it ended before the program did
};

// What is not defined is left out; nothing is trusted.
Stacks read_stacks(const Trace& trace);

}  // namespace genscope::trace
