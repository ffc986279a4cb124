#include "config/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <sstream>
#include <utility>

#include "base/text.h"

namespace genscope::config {
namespace {

// Thrown out of the parser's callbacks; never leaves this file.
struct Refused {
  int line;
  std::string what;
};

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 1 : mark.line + 1; }

// Builds the tree from the parser's events, and stops it at the first thing we do not take.
class Builder final : public YAML::EventHandler {
 public:
  YamlValue root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    add(mark, YamlValue::Kind::null, {}, false);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    check_tag(mark, tag);
    add(mark, YamlValue::Kind::scalar, value, tag == "!");
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(mark, YamlValue::Kind::list);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(mark, YamlValue::Kind::map);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  // A list or map that is still being filled; `name` waits for its value.
  struct Open {
    YamlValue value;
    bool has_name = false;
    std::string name;
    int name_line = 0;
  };

  [[noreturn]] static void refuse_anchor(const YAML::Mark& mark) {
    throw Refused{line_of(mark), "anchors and aliases are not supported; write the value out"};
  }

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Refused{line_of(mark), fmt::format("tag {} is not supported; remove it", printable(tag))};
  }

  void count(const YAML::Mark& mark) {
    if (++values_ > kMaxYamlValues) {
      throw Refused{line_of(mark), fmt::format("more than {} values", kMaxYamlValues)};
    }
  }

  bool awaits_name() const {
    return !open_.empty() && open_.back().value.kind == YamlValue::Kind::map &&
           !open_.back().has_name;
  }

  void add(const YAML::Mark& mark, YamlValue::Kind kind, const std::string& text, bool quoted) {
    count(mark);
    if (awaits_name()) {
      if (kind != YamlValue::Kind::scalar) throw Refused{line_of(mark), "a name is missing"};
      open_.back().has_name = true;
      open_.back().name = text;
      open_.back().name_line = line_of(mark);
      return;
    }
    // The parser reports an empty value at the token that follows; it stands where its name does.
    const bool empty_value =
        kind == YamlValue::Kind::null && !open_.empty() && open_.back().has_name;
    put({.kind = kind,
         .text = text,
         .quoted = quoted,
         .line = empty_value ? open_.back().name_line : line_of(mark),
         .items = {},
         .entries = {}});
  }

  void open(const YAML::Mark& mark, YamlValue::Kind kind) {
    count(mark);
    if (awaits_name()) throw Refused{line_of(mark), "a name must be a word, not a list or a map"};
    if (open_.size() >= kMaxYamlDepth) {
      throw Refused{line_of(mark), fmt::format("nested deeper than {} levels", kMaxYamlDepth)};
    }
    open_.emplace_back();
    open_.back().value.kind = kind;
    open_.back().value.line = line_of(mark);
  }

  void close() {
    YamlValue done = std::move(open_.back().value);
    open_.pop_back();
    put(std::move(done));
  }

  void put(YamlValue value) {
    if (open_.empty()) {
      root = std::move(value);
      return;
    }
    Open& place = open_.back();
    if (place.value.kind == YamlValue::Kind::list) {
      place.value.items.push_back(std::move(value));
      return;
    }
    place.value.entries.push_back({std::move(place.name), place.name_line, std::move(value)});
    place.has_name = false;
  }

  std::vector<Open> open_;
  std::size_t values_ = 0;
};

}  // namespace

std::string_view describe(const YamlValue& value) noexcept {
  switch (value.kind) {
    case YamlValue::Kind::null:
      return "nothing";
    case YamlValue::Kind::list:
      return "a list";
    case YamlValue::Kind::map:
      return "a map";
    case YamlValue::Kind::scalar:
      break;
  }
  return value.quoted ? "a text" : "a word";
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (const char c : base::cut_utf8(text, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  if (text.size() > limit) out += "...";
  return out;
}

Error error_at(std::string_view file, int line, std::string_view what) {
  return {ErrorCode::bad_data, fmt::format("{}:{}: {}", file, line, what)};
}

Status for_each_setting(const YamlValue& root, std::string_view file, NamesSeen& seen,
                        const std::function<Status(const YamlEntry&)>& take) {
  if (root.kind == YamlValue::Kind::null) return Done{};
  if (root.kind != YamlValue::Kind::map) {
    return error_at(file, root.line,
                    fmt::format("expected settings as `name: value`, found {}", describe(root)));
  }
  for (const YamlEntry& entry : root.entries) {
    const auto [place, is_new] = seen.emplace(entry.name, entry.line);
    if (!is_new) {
      return error_at(file, entry.line,
                      fmt::format("'{}' is given twice; first in line {}", printable(entry.name),
                                  place->second));
    }
    if (const Status done = take(entry); !done) return done;
  }
  return Done{};
}

Result<YamlValue> parse_yaml(std::string_view text, std::string_view file) {
  if (text.size() > kMaxYamlBytes) {
    return Error{ErrorCode::bad_data, fmt::format("{}: {} bytes; a settings file has at most {}",
                                                  file, text.size(), kMaxYamlBytes)};
  }
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return Error{ErrorCode::bad_data, fmt::format("{}: a zero byte at {}", file, zero)};
  }
  Builder builder;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return YamlValue{};
    Builder second;
    if (parser.HandleNextDocument(second)) {
      return error_at(file, second.root.line, "a second document; a settings file has one");
    }
  } catch (const Refused& refused) {
    return error_at(file, refused.line, refused.what);
  } catch (const YAML::Exception& broken) {
    return error_at(file, line_of(broken.mark), "not YAML: " + printable(broken.msg));
  } catch (const std::exception& broken) {  // bad_alloc and what the library's own code throws
    return Error{ErrorCode::bad_data, fmt::format("{}: not YAML: {}", file, broken.what())};
  }
  return std::move(builder.root);
}

}  // namespace genscope::config
