#include "bench/result/json_writer.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

std::string_view not_finite(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
}

}  // namespace

void JsonWriter::flush() {
  if (sink_ == nullptr || out_.empty()) return;
  (*sink_)(out_);
  out_.clear();
}

void JsonWriter::separate() {
  if (out_.size() >= kPieceBytes) flush();
  if (!first_) out_ += ',';
  if (std::exchange(line_, false)) out_ += '\n';
  first_ = false;
}

void JsonWriter::begin(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
}

void JsonWriter::end(char bracket) {
  out_ += bracket;
  first_ = false;
}

void JsonWriter::key(std::string_view name) {
  separate();
  out_ += base::json_quote(name);
  out_ += ':';
  first_ = true;  // the value needs no comma
}

void JsonWriter::text(std::string_view value) {
  separate();
  out_ += base::json_quote(value);
}

void JsonWriter::flag(bool value) {
  separate();
  out_ += value ? "true" : "false";
}

void JsonWriter::integer(std::int64_t value) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonWriter::natural(std::uint64_t value) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonWriter::number(double value) {
  separate();
  if (!std::isfinite(value)) {
    out_ += not_finite(value);
  } else if (value == 0) {
    out_ += std::signbit(value) ? "-0.0" : "0";
  } else {
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
}

// value = d.ddd * 10^e, with the fewest digits. The reader moves the point back in the text before
// it converts, so that what was rounded once is never rounded again.
void JsonWriter::thousandfold(double value) {
  if (!std::isfinite(value) || value == 0) return number(value);
  separate();
  char text[40];
  const auto done = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  const std::string_view all(text, static_cast<std::size_t>(done.ptr - text));
  const std::size_t e = all.find('e');
  int exponent = 0;
  std::from_chars(all.data() + e + (all[e + 1] == '+' ? 2 : 1), all.data() + all.size(), exponent);
  exponent += 3;
  if (exponent < -5 || exponent > 17) {
    fmt::format_to(std::back_inserter(out_), "{}e{}", all.substr(0, e), exponent);
    return;
  }
  std::string digits;
  for (const char c : all.substr(0, e)) {
    if (c == '-') out_ += '-';
    if (c >= '0' && c <= '9') digits += c;
  }
  if (exponent < 0) {
    out_ += "0.";
    out_.append(static_cast<std::size_t>(-exponent - 1), '0');
    out_ += digits;
    return;
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  out_.append(digits, 0, whole);
  if (digits.size() > whole) out_.append(".").append(digits, whole);
}

}  // namespace genscope::bench
