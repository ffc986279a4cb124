#include "inspect/identify/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

#include "inspect/identify/quantisation.h"

namespace genscope::inspect {
namespace {

constexpr std::string_view kMarks = " .()/";

// Whether a text has the word, between blanks, dots or parentheses.
bool has_token(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || kMarks.find(text[at - 1]) != std::string_view::npos;
    const bool ends = end == text.size() || kMarks.find(text[end]) != std::string_view::npos;
    if (begins && ends) return true;
  }
  return false;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::uint64_t number_of(std::string_view digits) {
  constexpr std::uint64_t kMost = 1'000'000;
  std::uint64_t number = 0;
  for (const char c : digits) {
    if (number < kMost) number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

// Whether a path ends with these words; '_' of a flat path may be a dot.
bool ends_so(std::string_view path, std::string_view words) {
  if (path.size() < words.size()) return false;
  const std::string_view end = path.substr(path.size() - words.size());
  const bool begins = path.size() == words.size() || path[path.size() - words.size() - 1] == '.' ||
                      path[path.size() - words.size() - 1] == '_';
  return begins && std::equal(end.begin(), end.end(), words.begin(),
                              [](char a, char b) { return a == b || (a == '_' && b == '.'); });
}

// What is left of the path after a segment of the tree; nothing if it does not begin with it.
std::optional<std::string_view> after(std::string_view segment, std::string_view path, bool flat) {
  std::size_t taken = segment.size();
  if (segment.starts_with('#')) {
    taken = std::min(path.find_first_not_of("0123456789"), path.size());
    if (taken == 0 || number_of(path.substr(0, taken)) >= number_of(segment.substr(1))) return {};
  } else if (!path.starts_with(segment)) {
    return {};
  }
  path.remove_prefix(taken);
  if (path.empty()) return path;
  if (path.front() != '.' && !(flat && path.front() == '_')) return {};
  return path.substr(1);
}

// The first item of a list, which is cut off: up to a blank that is in no parentheses.
std::string_view next_item(std::string_view& list) {
  std::size_t end = 0;
  for (int depth = 0; end < list.size() && (depth > 0 || list[end] != ' '); ++end) {
    depth += list[end] == '(' ? 1 : list[end] == ')' ? -1 : 0;
  }
  const std::string_view item = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return item;
}

// NOLINTNEXTLINE(misc-no-recursion)
bool walk(std::string_view list, std::string_view path, bool flat, ModuleBlock* block) {
  const auto note = [&](std::string_view segment) {
    if (block == nullptr || block->of != 0 || !segment.starts_with('#')) return;
    const std::size_t digits = std::min(path.find_first_not_of("0123456789"), path.size());
    block->number = number_of(path.substr(0, digits));
    block->of = number_of(segment.substr(1));
    block->stem = {block->stem.data(), static_cast<std::size_t>(path.data() - block->stem.data())};
  };
  while (!list.empty()) {
    const std::string_view item = next_item(list);
    const std::size_t end = item.find_first_of(".(");
    const std::optional<std::string_view> rest = after(item.substr(0, end), path, flat);
    if (!rest) continue;
    if (rest->empty()) {
      note(item.substr(0, end));
      return true;
    }
    if (end == std::string_view::npos) continue;
    const std::string_view inner = item.substr(end + 1, item.size() - end - 1);
    const bool one = item[end] == '.';
    const ModuleBlock before = block == nullptr ? ModuleBlock{} : *block;
    note(item.substr(0, end));
    if (walk(one ? inner : inner.substr(0, inner.size() - 1), *rest, flat, block)) return true;
    if (block != nullptr) *block = before;
  }
  return false;
}

// Where names begin to differ from the one before: at the word after the last dot that they share.
std::size_t shared(std::string_view a, std::string_view b) {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t word = 0;
  for (std::size_t i = 0; i < most && a[i] == b[i]; ++i) {
    if (a[i] == '.') word = i + 1;
  }
  return word;
}

const std::array<std::span<const Vocabulary>, 2>& all_vocabularies() {
  static const std::array<std::span<const Vocabulary>, 2> both = {base_vocabularies(),
                                                                  other_vocabularies()};
  return both;
}

}  // namespace

bool has_vocabulary(std::string_view architecture, std::string_view naming) {
  for (const std::span<const Vocabulary> table : all_vocabularies()) {
    for (const Vocabulary& row : table) {
      if (row.architecture == architecture && row.naming == naming) return true;
    }
  }
  return false;
}

bool knows_word(std::string_view architecture, std::string_view word) {
  for (const std::span<const Vocabulary> table : all_vocabularies()) {
    for (const Vocabulary& row : table) {
      if (row.architecture == architecture && has_token(row.modules, word)) return true;
    }
  }
  return false;
}

bool has_module(const Vocabulary& tree, std::string_view path, bool flat, ModuleBlock* block) {
  if (block != nullptr) *block = {path.substr(0, 0)};
  const bool found = walk(tree.modules, path, flat, block);
  if (block != nullptr && block->of == 0) block->stem = {};
  return found;
}

bool has_width(const Vocabulary& tree, std::string_view path, std::uint64_t width) {
  const std::string wanted = fmt::format("{}", width);
  bool told = false;
  for (std::string_view rest = tree.widths; !rest.empty();) {
    const std::string_view row = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(row.size() + 1, rest.size()));
    const std::size_t equals = row.find('=');
    if (!ends_so(path, row.substr(0, equals))) continue;
    told = true;
    if (has_token(row.substr(equals + 1), wanted)) return true;
  }
  return !told;
}

std::vector<std::string_view> words_of(const TensorView& view) {
  std::unordered_set<std::string_view> seen;
  std::vector<std::string_view> words;
  std::string_view last;
  for (const std::uint32_t id : view.members()) {
    std::string_view name = view.bare(view.at(id).name);
    if (is_bookkeeping(name)) continue;
    name = without_weight(name);
    const std::size_t from = shared(name, last);
    last = name;
    for (std::string_view rest = name.substr(from); !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find('.'));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (!is_number(word) && seen.insert(word).second) words.push_back(word);
    }
  }
  return words;
}

}  // namespace genscope::inspect
