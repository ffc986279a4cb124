// A device by the name that a person types or a driver reports.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include <genscope/predict.h>

#include "base/suggest.h"

namespace genscope {
namespace {

using Words = std::vector<std::string>;

// Words that tell no device of ours from another.
constexpr std::array<std::string_view, 22> kNoise = {
    "nvidia", "geforce", "amd",   "instinct", "radeon",     "tesla",      "gpu",     "graphics",
    "card",   "hbm2",    "hbm2e", "hbm3",     "hbm3e",      "oam",        "edition", "workstation",
    "server", "the",     "corp",  "inc",      "generation", "corporation"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "rtx4090" is "rtx 4090", "4070ti" is "4070 ti", "sxm4" is "sxm".
void add_word(std::string word, Words& words) {
  for (const std::string_view prefix : {"rtx", "rx", "gtx"}) {
    if (word.size() > prefix.size() && word.starts_with(prefix) && is_digit(word[prefix.size()])) {
      words.emplace_back(prefix);
      word.erase(0, prefix.size());
    }
  }
  for (const std::string_view suffix : {"super", "ti", "xtx", "xt"}) {
    if (word.size() <= suffix.size() || !word.ends_with(suffix)) continue;
    if (!is_digit(word[0])) continue;
    add_word(word.substr(0, word.size() - suffix.size()), words);
    words.emplace_back(suffix);
    return;
  }
  if (word.starts_with("sxm")) word = "sxm";
  if (std::find(kNoise.begin(), kNoise.end(), word) == kNoise.end()) words.push_back(word);
}

Words words_of(std::string_view name) {
  Words words;
  std::string word;
  for (const char c : std::string(name) + " ") {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((lower >= 'a' && lower <= 'z') || is_digit(lower)) {
      word += lower;
    } else if (!word.empty()) {
      add_word(std::exchange(word, {}), words);
    }
  }
  return words;
}

// Drivers add the memory to some names, so it belongs to each row.
Words words_of_row(const Hardware& row) {
  Words words = words_of(row.name);
  words.push_back(fmt::format("{}gb", row.memory_gib));
  return words;
}

bool all_in(const Words& asked, const Words& row) {
  return std::all_of(asked.begin(), asked.end(), [&](const std::string& word) {
    return std::find(row.begin(), row.end(), word) != row.end();
  });
}

// Without the word that so many share, which people leave away.
std::string spelled(const Words& words) {
  std::string text = fmt::format("{}", fmt::join(words, " "));
  if (text.starts_with("rtx ")) text.erase(0, 4);
  return text;
}

// What was probably meant: the nearest spelling, else a row whose every word was said.
std::string meant_by(const Words& asked) {
  std::vector<std::string> spellings;
  const Hardware* contained = nullptr;
  for (const Hardware& row : hardware_table()) {
    const Words words = words_of(row.name);
    spellings.push_back(spelled(words));
    if (all_in(words, asked)) contained = &row;
  }
  const std::string near = base::nearest(spelled(asked), spellings);
  const auto at = std::find(spellings.begin(), spellings.end(), near);
  if (at != spellings.end()) {
    return hardware_table()[static_cast<std::size_t>(at - spellings.begin())].name;
  }
  return contained == nullptr ? "" : contained->name;
}

}  // namespace

Result<Hardware> find_hardware(std::string_view name) {
  const Words asked = words_of(name);
  const Hardware* best = nullptr;
  std::size_t best_size = 0;
  for (const Hardware& row : hardware_table()) {
    const Words words = words_of_row(row);
    if (asked.empty() || !all_in(asked, words)) continue;
    if (best != nullptr && words.size() >= best_size) continue;
    best = &row;
    best_size = words.size();
  }
  if (best != nullptr) return *best;
  const std::string meant = meant_by(asked);
  return Error{ErrorCode::not_found,
               fmt::format("no device '{}' in the table{}; see `genscope predict --gpu list`, or "
                           "give its peak, bandwidth and memory yourself",
                           name, meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant))};
}

}  // namespace genscope
