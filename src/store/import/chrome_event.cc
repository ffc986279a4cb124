#include "store/import/chrome_event.h"

namespace genscope::store {

void ChromeEvent::clear() {
  std::vector<Arg> keep = std::move(args);
  keep.clear();
  *this = {};
  args = std::move(keep);
}

namespace {

// A key of up to four bytes as a number of its own, so that a switch tells it; else 0.
constexpr std::uint64_t number_of(std::string_view key) noexcept {
  if (key.size() > 4) return 0;
  std::uint64_t number = key.size();
  for (const char c : key) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

// Reads the members of one event.
class EventParser {
 public:
  EventParser(JsonCursor& cursor, StringPool& pool, ChromeEvent& event)
      : cursor_(cursor), pool_(pool), event_(event) {}

  template <class Member>
  Scan object(Member member) {
    if (const Scan r = cursor_.expect('{'); r != Scan::ok) return r;
    char c = 0;
    if (const Scan r = cursor_.next_byte(c); r != Scan::ok) return r;
    if (c == '}') return cursor_.take(), Scan::ok;
    for (;;) {
      std::string_view key;
      if (const Scan r = cursor_.next_byte(c); r != Scan::ok) return r;
      if (c != '"') return cursor_.expect('"');
      if (const Scan r = cursor_.string(key, pool_); r != Scan::ok) return r;
      if (const Scan r = cursor_.expect(':'); r != Scan::ok) return r;
      if (const Scan r = member(key); r != Scan::ok) return r;
      if (const Scan r = cursor_.next_byte(c); r != Scan::ok) return r;
      if (c == '}') return cursor_.take(), Scan::ok;
      if (const Scan r = cursor_.expect(','); r != Scan::ok) return r;
    }
  }

  Scan field(std::string_view key) {
    switch (number_of(key)) {
      case number_of("ph"):
        return phase();
      case number_of("ts"):
        return time(event_.at_ns, event_.has_time);
      case number_of("dur"):
        return time(event_.duration_ns, event_.has_duration);
      case number_of("name"):
        return text(event_.name);
      case number_of("cat"):
        return text(event_.category);
      case number_of("pid"):
        return text(event_.pid);
      case number_of("tid"):
        return text(event_.tid);
      case number_of("args"):
        return arguments();
      case number_of("id"):
        return text(event_.id);
      case number_of("id2"):
        return id2();
      default:
        std::string_view ignored;
        return cursor_.skip(ignored);
    }
  }

 private:
  // A string's content, a scalar's bytes.
  [[gnu::always_inline]] Scan plain(JsonType& type, std::string_view& out) {
    if (const Scan r = cursor_.peek(type); r != Scan::ok) return r;
    if (type == JsonType::string) return cursor_.string(out, pool_);
    if (type == JsonType::object || type == JsonType::array) return cursor_.skip(out);
    return cursor_.scalar(out);
  }

  // A name may be a number too, and null is none.
  Scan text(std::string_view& out) {
    JsonType type{};
    std::string_view value;
    if (const Scan r = plain(type, value); r != Scan::ok) return r;
    if (type == JsonType::object || type == JsonType::array || type == JsonType::boolean) {
      return Scan::bad;
    }
    out = type == JsonType::null ? std::string_view() : value;
    return Scan::ok;
  }

  Scan phase() {
    std::string_view value;
    JsonType type{};
    if (const Scan r = plain(type, value); r != Scan::ok) return r;
    if (type != JsonType::string || value.size() != 1) return Scan::bad;
    event_.phase = value[0];
    return Scan::ok;
  }

  Scan time(std::int64_t& ns, bool& has) {
    std::string_view value;
    JsonType type{};
    if (const Scan r = plain(type, value); r != Scan::ok) return r;
    if (type == JsonType::null) return Scan::ok;
    if (type != JsonType::number && type != JsonType::string) return Scan::bad;
    has = parse_microseconds(value, ns, event_.has_fraction);
    return has ? Scan::ok : Scan::bad;
  }

  Scan id2() {
    return object([&](std::string_view key) {
      if (key != "local" && key != "global") {
        std::string_view ignored;
        return cursor_.skip(ignored);
      }
      event_.id_is_local = key == "local";
      return text(event_.id);
    });
  }

  Scan arguments() {
    JsonType type{};
    if (const Scan r = cursor_.peek(type); r != Scan::ok) return r;
    if (type == JsonType::null) {
      std::string_view ignored;
      return cursor_.scalar(ignored);
    }
    if (type != JsonType::object) return Scan::bad;
    event_.args.clear();
    return object([&](std::string_view key) {
      ChromeEvent::Arg& arg = event_.args.emplace_back();
      arg.key = key;
      return plain(arg.type, arg.text);
    });
  }

  JsonCursor& cursor_;
  StringPool& pool_;
  ChromeEvent& event_;
};

}  // namespace

Scan parse_event(JsonCursor& cursor, StringPool& pool, ChromeEvent& event) {
  event.clear();
  pool.reset();
  EventParser parser(cursor, pool, event);
  return parser.object([&](std::string_view key) { return parser.field(key); });
}

const char* parse_problem(const JsonCursor& cursor, const ChromeEvent& event) {
  if (*cursor.why() != '\0') return cursor.why();
  return event.phase == 0 ? "a field of a type that it cannot have, perhaps ph"
                          : "a field of a type that it cannot have, or a time that is no number";
}

}  // namespace genscope::store
