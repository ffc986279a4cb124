#include "analyze/rows.h"

#include <array>
#include <unordered_map>

namespace genscope::analysis {

RowTable::RowTable(const Run& run) : of_name_(run.traces.size()) {
  constexpr std::size_t kKinds = 256;
  std::array<std::unordered_map<std::string_view, std::uint32_t>, kKinds> known;
  for (const bool steps : {true, false}) {
    for (std::size_t t = 0; t < run.traces.size(); ++t) {
      const std::vector<Name>& names = run.traces[t].names;
      of_name_[t].resize(names.size());
      for (std::size_t n = 0; n < names.size(); ++n) {
        const Name& name = names[n];
        if ((name.kind == SpanKind::step) != steps) continue;
        const auto next = static_cast<std::uint32_t>(keys_.size());
        const auto [at, is_new] =
            known[static_cast<std::uint8_t>(name.kind)].try_emplace(name.text, next);
        if (is_new) keys_.push_back({name.text, name.kind});
        of_name_[t][n] = at->second;
      }
    }
    if (steps) step_rows_ = keys_.size();
  }
}

}  // namespace genscope::analysis
