#include "compat/inferix/json_block.h"

#include <charconv>
#include <cmath>

namespace genscope::compat::inferix {

using store::JsonCursor;
using store::JsonType;
using store::Scan;
using store::StringPool;
namespace {

const char* words(JsonType type) {
  switch (type) {
    case JsonType::object:
      return "an object";
    case JsonType::array:
      return "a list";
    case JsonType::string:
      return "a text";
    case JsonType::number:
      return "a number";
    case JsonType::boolean:
      return "true or false";
    case JsonType::null:
      return "null";
  }
  return "something else";
}

// Keys become part of messages.
std::string shown(std::string_view key) {
  constexpr std::size_t kLongest = 60;
  std::string out(key.substr(0, kLongest));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return out;
}

}  // namespace

Error JsonBlock::wrong(const char* wanted) const {
  return {ErrorCode::bad_data,
          path_ + " is " + words(type_) + ", expected " + wanted + ": is it a report of Inferix?"};
}

Error JsonBlock::damaged(const JsonCursor& cursor, Scan scan) const {
  if (scan == Scan::more) {
    return {ErrorCode::bad_data, path_ + " is cut off: copy the file again"};
  }
  const std::string why = *cursor.why() != '\0' ? cursor.why() : "something unexpected";
  return {ErrorCode::bad_data, path_ + " is no JSON: " + why + " after " +
                                   std::to_string(cursor.at() - bytes_.data()) + " bytes"};
}

Result<JsonBlock> JsonBlock::next(JsonCursor& cursor, std::string path) const {
  JsonType type{};
  if (const Scan r = cursor.peek(type); r != Scan::ok) return damaged(cursor, r);
  std::string_view bytes;
  if (const Scan r = cursor.skip(bytes); r != Scan::ok) return damaged(cursor, r);
  return JsonBlock(bytes, std::move(path), type);
}

Result<JsonBlock> JsonBlock::parse(std::string_view text, const std::string& name) {
  const JsonBlock whole(text, name, JsonType::object);
  JsonCursor cursor(text.data(), text.data() + text.size());
  return whole.next(cursor, name);
}

Status JsonBlock::members(const Member& each) const {
  if (type_ != JsonType::object) return wrong("an object");
  JsonCursor cursor(bytes_.data(), bytes_.data() + bytes_.size());
  StringPool pool;
  cursor.take();
  char c = 0;
  if (const Scan r = cursor.next_byte(c); r != Scan::ok) return damaged(cursor, r);
  if (c == '}') return Done{};
  for (;;) {
    if (const Scan r = cursor.next_byte(c); r != Scan::ok) return damaged(cursor, r);
    if (c != '"') return damaged(cursor, Scan::bad);
    pool.reset();
    std::string_view key;
    if (const Scan r = cursor.string(key, pool); r != Scan::ok) return damaged(cursor, r);
    if (const Scan r = cursor.expect(':'); r != Scan::ok) return damaged(cursor, r);
    const bool root = path_.ends_with(": ");
    Result<JsonBlock> value = next(cursor, path_ + (root ? "" : ".") + shown(key));
    if (!value.ok()) return value.error();
    if (Status done = each(key, *value); !done.ok()) return done;
    if (const Scan r = cursor.next_byte(c); r != Scan::ok) return damaged(cursor, r);
    cursor.take();
    if (c == '}') return Done{};
    if (c != ',') return damaged(cursor, Scan::bad);
  }
}

Status JsonBlock::elements(const Element& each) const {
  if (type_ != JsonType::array) return wrong("a list");
  JsonCursor cursor(bytes_.data(), bytes_.data() + bytes_.size());
  cursor.take();
  char c = 0;
  if (const Scan r = cursor.next_byte(c); r != Scan::ok) return damaged(cursor, r);
  if (c == ']') return Done{};
  const std::string path = path_ + "[]";
  for (;;) {
    Result<JsonBlock> value = next(cursor, path);
    if (!value.ok()) return value.error();
    if (Status done = each(*value); !done.ok()) return done;
    if (const Scan r = cursor.next_byte(c); r != Scan::ok) return damaged(cursor, r);
    cursor.take();
    if (c == ']') return Done{};
    if (c != ',') return damaged(cursor, Scan::bad);
  }
}

Status JsonBlock::number(std::optional<double>& out) const {
  out.reset();
  if (type_ == JsonType::null) return Done{};
  if (type_ != JsonType::number) return wrong("a number");
  double value = 0;
  const char* const end = bytes_.data() + bytes_.size();
  const auto [stop, error] = std::from_chars(bytes_.data(), end, value);
  if (error == std::errc::result_out_of_range) return Done{};
  if (error != std::errc() || stop != end) return wrong("a number that can be read");
  if (std::isfinite(value)) out = value;
  return Done{};
}

Status JsonBlock::string(std::string& out) const {
  if (type_ == JsonType::null) return Done{};
  if (type_ != JsonType::string) return wrong("a text");
  out = text();
  return Done{};
}

std::string JsonBlock::text() const {
  if (type_ != JsonType::string) return std::string(bytes_);
  JsonCursor cursor(bytes_.data(), bytes_.data() + bytes_.size());
  StringPool pool;
  std::string_view value;
  if (cursor.string(value, pool) != Scan::ok) return {};
  return std::string(value);
}

}  // namespace genscope::compat::inferix
