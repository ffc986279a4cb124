#include "bench/suite/mistakes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/suggest.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kMaxRemedyBytes = 64;  // the cost is a product of lengths

}  // namespace

void Mistakes::add(int line, std::string what) { found_.emplace_back(line, std::move(what)); }

Error Mistakes::error() const {
  auto sorted = found_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < kMost; ++i) {
    text += fmt::format("{}{}:{}: {}", i > 0 ? "\n" : "", file_, sorted[i].first, sorted[i].second);
  }
  if (sorted.size() > kMost) {
    text += fmt::format("\n{}: and {} more mistakes", file_, sorted.size() - kMost);
  }
  return {ErrorCode::bad_data, text};
}

std::string remedy(std::string_view word, const std::vector<std::string>& known) {
  const std::string meant =
      word.size() > kMaxRemedyBytes ? std::string() : base::nearest(word, known);
  if (!meant.empty()) return fmt::format("; did you mean '{}'?", meant);
  if (known.empty() || known.size() > 16) return {};
  return fmt::format("; there {} {}", known.size() == 1 ? "is" : "are", fmt::join(known, ", "));
}

}  // namespace genscope::bench
