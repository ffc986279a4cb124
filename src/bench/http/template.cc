// A JSON object never begins with a bare word, so {name} has no other meaning in JSON outside its
// strings. Within strings it is a place for a value too; who wants the characters themselves writes
// \u007b for the brace.
#include "bench/http/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/suggest.h"
#include "base/text.h"
#include "bench/run/expand.h"

namespace genscope::bench {
namespace {

bool name_begins(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool name_goes_on(char c) {
  return name_begins(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
}

// The name at the start of `text`, which begins with a brace; empty if it is none.
std::string_view name_at(std::string_view text) {
  std::size_t end = 1;
  if (end >= text.size() || !name_begins(text[end])) return {};
  while (end < text.size() && name_goes_on(text[end])) ++end;
  return end < text.size() && text[end] == '}' ? text.substr(1, end - 1) : std::string_view();
}

bool is_json_literal(const std::string& value) {
  if (value.empty() || value.front() == '"' || value.front() == '[' || value.front() == '{') {
    return false;
  }
  // The parser takes a NUL for the end of its text, and would accept what follows.
  const bool bare = std::none_of(value.begin(), value.end(), [](char c) {
    return c == '\0' || std::isspace(static_cast<unsigned char>(c)) != 0;
  });
  return bare && nlohmann::json::accept(value);
}

std::string as_json(const std::string& value, bool in_string) {
  const std::string quoted = base::json_quote(value);
  if (in_string) return quoted.substr(1, quoted.size() - 2);
  return is_json_literal(value) ? value : quoted;
}

Error unknown_name(std::string_view name, const Params& values) {
  std::vector<std::string> known;
  std::string all;
  for (const auto& [one, value] : values) {
    known.push_back(one);
    all += (all.empty() ? "" : ", ") + one;
  }
  const std::string meant = base::nearest(name, known);
  return {ErrorCode::invalid_argument,
          fmt::format("{{{}}}: there is no such value; {}", base::shorten(name, 60),
                      meant.empty() ? "known are " + all : "did you mean {" + meant + "}?")};
}

}  // namespace

Params template_values(const Request& request) {
  Params values = values_of(request);
  const auto known = [&](std::string_view name) {
    return std::any_of(values.begin(), values.end(),
                       [&](const auto& pair) { return pair.first == name; });
  };
  if (!known("prompt")) values.emplace_back("prompt", request.prompt);
  if (!known("iteration")) values.emplace_back("iteration", std::to_string(request.iteration));
  if (!known("seed")) values.emplace_back("seed", std::to_string(request.iteration));
  return values;
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t i = text.find('{'); i != std::string_view::npos; i = text.find('{', i + 1)) {
    const std::string name(name_at(text.substr(i)));
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

Result<std::string> fill(std::string_view text, const Params& values, Filling filling) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::string_view name = c == '{' ? name_at(text.substr(i)) : std::string_view();
    if (name.empty()) {
      if (filling == Filling::json && c == '"') in_string = !in_string;
      out += c;
      if (in_string && c == '\\' && i + 1 < text.size()) out += text[++i];
      continue;
    }
    const auto value = std::find_if(values.begin(), values.end(),
                                    [&](const auto& pair) { return pair.first == name; });
    if (value == values.end()) return unknown_name(name, values);
    out += filling == Filling::json ? as_json(value->second, in_string) : value->second;
    i += name.size() + 1;
  }
  return out;
}

}  // namespace genscope::bench
