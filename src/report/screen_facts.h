// What the first screen says of memory, processors, GPUs and energy: only what was measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/analyze.h>

namespace genscope::report {

struct ScreenFact {
  const char* label = "";
  std::string text;       // printable
  bool doubtful = false;  // something went wrong
};
std::vector<ScreenFact> screen_facts(const Run& run, const Analysis& analysis);

// Durations as a row of at most `cells` columns, each as high as the longest of its stretch.
std::string sparkline(std::span<const std::int64_t> values_ns, std::size_t cells, bool unicode);

// Whether Python recorded it: who marks stages does so in that language.
bool is_of_python(const Run& run);

// At most `limit` columns of printable text: the end gives way to an ellipsis, at a space if it
// can.
std::string shorten_end(std::string_view text, std::size_t limit);

}  // namespace genscope::report
