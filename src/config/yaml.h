// A small YAML document as a tree that knows where each value stands.
//
// Only what a settings file needs: one document of scalars, lists and maps. Anchors, aliases, tags,
// keys that are not words, deep nesting and large texts are refused, so the cost of reading is
// bounded by the size of the text.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "genscope/error.h"

namespace genscope::config {

inline constexpr std::size_t kMaxYamlBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxYamlDepth = 16;
inline constexpr std::size_t kMaxYamlValues = 20'000;

struct YamlEntry;

struct YamlValue {
  enum class Kind { null, scalar, list, map } kind = Kind::null;
  std::string text;     // of a scalar
  bool quoted = false;  // "true" with quotes is a string, not a flag
  int line = 1;
  std::vector<YamlValue> items;    // of a list
  std::vector<YamlEntry> entries;  // of a map, as written: names may repeat
};
struct YamlEntry {
  std::string name;
  int line = 1;
  YamlValue value;
};

// "a flag", "a list", ...: what a value is, for messages.
std::string_view describe(const YamlValue& value) noexcept;

// `text` shortened and without control characters, for messages.
std::string printable(std::string_view text, std::size_t limit = 60);

// An Error that begins with `file:line: `.
Error error_at(std::string_view file, int line, std::string_view what);

// Names that were given, and where: over all maps of a file.
using NamesSeen = std::map<std::string_view, int>;
// Calls `take` for each entry of a map of settings, which may be null. An Error for what is no map,
// and for a name that `seen` has; views into `root`.
Status for_each_setting(const YamlValue& root, std::string_view file, NamesSeen& seen,
                        const std::function<Status(const YamlEntry&)>& take);

// Null for an empty document.
Result<YamlValue> parse_yaml(std::string_view text, std::string_view file);

}  // namespace genscope::config
