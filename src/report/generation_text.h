// Steps, blocks, training, requests and recorded events as sections of the text report.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <genscope/analyze.h>

#include "report/table.h"

namespace genscope::report {

// A heading with sentences, a table, or both. Printable text throughout.
struct Section {
  explicit Section(std::string heading) : title(std::move(heading)) {}

  std::string title;
  std::vector<std::string> sentences;
  Table table = Table({});
  std::size_t left_out = 0;  // rows that are in JSON only

  bool empty() const noexcept { return sentences.empty() && table.empty(); }
};

// What has nothing to say is empty.
Section steps_section(const Analysis& analysis);
// All other subjects, in the order to show them; none is empty.
std::vector<Section> generation_sections(const Analysis& analysis);

}  // namespace genscope::report
