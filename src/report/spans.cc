// Every span, one line each: text, JSON Lines, CSV.
#include <fmt/compile.h>

#include <array>
#include <string>

#include <genscope/report.h>

#include "base/text.h"
#include "report/printable.h"
#include "report/span_dump.h"

namespace genscope {
namespace {

using report::append;
using report::Buffer;
using report::SpanLine;

// Words for each of the 16 sets of flags, in the form that `make` gives them.
template <class Make>
std::array<std::string, 16> all_flags(const Make& make) {
  std::array<std::string, 16> words;
  for (std::uint8_t flags = 0; flags < words.size(); ++flags) {
    words[flags] = make(report::flag_words(flags));
  }
  return words;
}

const std::string& words_of(const std::array<std::string, 16>& words, std::uint8_t flags) {
  return words[flags & 15u];
}

template <class T>
void append_or(Buffer& out, const std::optional<T>& value, std::string_view none) {
  if (value) {
    fmt::format_to(fmt::appender(out), FMT_COMPILE("{}"), *value);
  } else {
    append(out, none);
  }
}

class TextWriter final : public report::SpanWriter {
 public:
  std::string ready(std::string_view text) const override {
    std::string fitted = report::shorten(report::printable(text), kNameColumns);
    fitted.append(kNameColumns - report::columns(fitted), ' ');
    return fitted;
  }

  void head(Buffer& out) const override {
    fmt::format_to(fmt::appender(out), kHead, "pid", "tid", ready("track"), "id", "parent", "kind",
                   ready("name"), "begin_ns", "duration_ns", "device_ns", "flags", "args");
  }

  void line(Buffer& out, const SpanLine& s, std::string_view name,
            std::string_view track) const override {
    fmt::format_to(fmt::appender(out), FMT_COMPILE("{:>8} "), s.pid);
    column(out, s.tid, 8);
    fmt::format_to(fmt::appender(out), FMT_COMPILE(" {} {:>10} "), track, s.id);
    column(out, s.parent, 10);
    fmt::format_to(fmt::appender(out), FMT_COMPILE(" {:<8} {} {:>14} {:>14} "),
                   genscope::name(s.kind), name, s.begin_ns, s.duration_ns);
    column(out, s.device_ns, 12);
    fmt::format_to(fmt::appender(out), FMT_COMPILE(" {:<10} {}\n"), words_of(flags_, s.flags),
                   s.args == "{}" ? std::string("{}") : report::printable(s.args));
  }

 private:
  static constexpr std::size_t kNameColumns = 24;
  static constexpr const char* kHead =
      "{:>8} {:>8} {} {:>10} {:>10} {:<8} {} {:>14} {:>14} {:>12} {:<10} {}\n";

  template <class T>
  static void column(Buffer& out, const std::optional<T>& value, int width) {
    if (value) {
      fmt::format_to(fmt::appender(out), FMT_COMPILE("{:>{}}"), *value, width);
    } else {
      fmt::format_to(fmt::appender(out), FMT_COMPILE("{:>{}}"), '-', width);
    }
  }

  std::array<std::string, 16> flags_ =
      all_flags([](const std::string& words) { return words.empty() ? "-" : words; });
};

class JsonWriter final : public report::SpanWriter {
 public:
  std::string ready(std::string_view text) const override { return base::json_quote(text); }
  void head(Buffer&) const override {}

  void line(Buffer& out, const SpanLine& s, std::string_view name,
            std::string_view track) const override {
    fmt::format_to(fmt::appender(out), FMT_COMPILE("{{\"pid\":{},\"tid\":"), s.pid);
    append_or(out, s.tid, "null");
    fmt::format_to(fmt::appender(out), FMT_COMPILE(",\"track\":{},\"id\":{},\"parent\":"), track,
                   s.id);
    append_or(out, s.parent, "null");
    fmt::format_to(fmt::appender(out),
                   FMT_COMPILE(",\"kind\":\"{}\",\"name\":{},\"begin_ns\":{},\"duration_ns\":{},"
                               "\"device_ns\":"),
                   genscope::name(s.kind), name, s.begin_ns, s.duration_ns);
    append_or(out, s.device_ns, "null");
    fmt::format_to(fmt::appender(out), FMT_COMPILE(",\"flags\":{},\"args\":{}}}\n"),
                   words_of(flags_, s.flags), s.args);
  }

 private:
  // "a|b" as ["a","b"].
  static std::string array(const std::string& words) {
    if (words.empty()) return "[]";
    std::string out = "[\"";
    for (const char c : words) {
      if (c == '|') {
        out += "\",\"";
      } else {
        out += c;
      }
    }
    return out + "\"]";
  }

  std::array<std::string, 16> flags_ = all_flags(array);
};

class CsvWriter final : public report::SpanWriter {
 public:
  std::string ready(std::string_view text) const override { return report::csv_field(text); }
  void head(Buffer& out) const override {
    append(out, "pid,tid,track,id,parent,kind,name,begin_ns,duration_ns,device_ns,flags,args\n");
  }

  void line(Buffer& out, const SpanLine& s, std::string_view name,
            std::string_view track) const override {
    fmt::format_to(fmt::appender(out), FMT_COMPILE("{},"), s.pid);
    append_or(out, s.tid, "");
    fmt::format_to(fmt::appender(out), FMT_COMPILE(",{},{},"), track, s.id);
    append_or(out, s.parent, "");
    fmt::format_to(fmt::appender(out), FMT_COMPILE(",{},{},{},{},"), genscope::name(s.kind), name,
                   s.begin_ns, s.duration_ns);
    append_or(out, s.device_ns, "");
    fmt::format_to(fmt::appender(out), FMT_COMPILE(",{},{}\n"), words_of(flags_, s.flags),
                   s.args == "{}" ? std::string("{}") : report::csv_field(s.args));
  }

 private:
  std::array<std::string, 16> flags_ = all_flags([](const std::string& words) { return words; });
};

}  // namespace

void spans_text(const Run& run, const Analysis& analysis, const Sink& sink) {
  report::dump_spans(run, analysis, TextWriter(), sink);
}

void spans_json(const Run& run, const Analysis& analysis, const Sink& sink) {
  report::dump_spans(run, analysis, JsonWriter(), sink);
}

void spans_csv(const Run& run, const Analysis& analysis, const Sink& sink) {
  report::dump_spans(run, analysis, CsvWriter(), sink);
}

}  // namespace genscope
