// Part of analyze.h: where sampled threads were, below the stages that were open on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/trace.h>

namespace genscope {

// Where sampled threads were: below each thread the stages that were open on it, and in these the
// functions, as they called one another. Calls of import are one function, kImports; one that calls
// itself is there once.
inline constexpr std::string_view kImports = "(import)";
struct SampledNode {
  enum class Kind : std::uint8_t { thread, stage, function };
  Kind kind = Kind::function;
  std::string name;
  std::string file;                                // of a function; empty: of no file
  std::uint32_t line = 0;                          // where it begins; 0: not known
  std::uint32_t parent = kNone;                    // its index in Sampled::nodes
  std::int64_t wall_ns = 0, cpu_ns = 0;            // nodes within it included
  std::int64_t self_wall_ns = 0, self_cpu_ns = 0;  // and without them
};
// A function wherever it stands. Of main threads the time, waits included; of all threads the CPU
// time.
struct SampledFunction {
  std::string name, file;
  std::uint32_t line = 0;
  std::int64_t self_ns = 0, total_ns = 0;
  std::int64_t self_cpu_ns = 0, total_cpu_ns = 0;
  std::int64_t outside_ns = 0;  // of self_ns: while no stage of its process was open
};
struct Sampled {
  std::uint64_t processes = 0, threads = 0, samples = 0;  // processes: 0 if none sampled
  double rate = 0;                                        // samples a second, as asked for
  std::int64_t period_ns = 0;                             // the longest at the end of a process
  std::int64_t main_ns = 0;     // that main threads were seen; the shares of functions are of it
  std::int64_t outside_ns = 0;  // of that, while no stage of its process was open
  std::int64_t cpu_ns = 0;      // of all threads
  std::int64_t own_cpu_ns = 0;  // that sampling took
  std::uint64_t late = 0;       // samples that waited long for Python's lock
  std::uint64_t folded = 0;     // whose stack was one too many: counted for their callers
  std::uint64_t left_out = 0;   // threads without their turn in a sample
  std::int64_t late_ns = 0;
  std::vector<std::string> stopped;  // why sampling ended early, each reason once
  // A node before those in it; siblings by wall time, largest first. At most kMaxSampledNodes: the
  // time of the smallest is their parents' own.
  std::vector<SampledNode> nodes;
  std::uint64_t nodes_left_out = 0;
  std::vector<SampledFunction> functions;  // by self_ns + self_cpu_ns; at most kMaxNamedRows
};
inline constexpr std::size_t kMaxSampledNodes = 4000;

}  // namespace genscope
