#include "serve/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace genscope::serve {
namespace {

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    out += c;
  }
  return out;
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kPlain = "-_.~/";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       kPlain.find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

std::string target_text(const Target& target) {
  std::string out = escaped(target.path);
  char mark = '?';
  for (const auto& [key, value] : target.query) {
    out += fmt::format("{}{}={}", mark, escaped(key), escaped(value));
    mark = '&';
  }
  return out;
}

std::optional<Target> parse_target(std::string_view text) {
  if (text.empty() || text.front() != '/') return std::nullopt;
  text = text.substr(0, text.find('#'));
  const std::size_t mark = text.find('?');
  std::optional<std::string> path = decoded(text.substr(0, mark), false);
  if (!path) return std::nullopt;
  Target target{*std::move(path), {}};
  std::string_view query = mark == std::string_view::npos ? "" : text.substr(mark + 1);
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    std::optional<std::string> key = decoded(part.substr(0, equals), true);
    std::optional<std::string> value =
        decoded(equals == std::string_view::npos ? "" : part.substr(equals + 1), true);
    if (!key || !value) return std::nullopt;
    target.query.emplace(*std::move(key), *std::move(value));
  }
  return target;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

std::uint64_t parse_number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace genscope::serve
