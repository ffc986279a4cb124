#include "bench/history/history_text.h"
#include "bench/result/json_writer.h"
#include "bench/result/timestamp.h"

namespace genscope::bench {
namespace {

class HistoryWriter {
 public:
  explicit HistoryWriter(std::string& text) : out_(text) {}

  void all(const std::vector<ShownSeries>& series) {
    out_.begin('{');
    text("schema", "genscope.history/1");
    list("series", series, [&](const ShownSeries& one) { put(one); });
    out_.end('}');
  }

 private:
  void text(const char* key, std::string_view value) { out_.key(key), out_.text(value); }
  void number(const char* key, double value) { out_.key(key), out_.number(value); }
  void flag(const char* key, bool value) { out_.key(key), out_.flag(value); }
  void natural(const char* key, std::uint64_t value) { out_.key(key), out_.natural(value); }
  void optional(const char* key, const std::optional<double>& value) {
    if (value) number(key, *value);
  }
  template <class T, class F>
  void list(const char* key, const std::vector<T>& values, const F& put_one) {
    out_.key(key);
    out_.begin('[');
    for (const T& value : values) {
      out_.line();
      put_one(value);
    }
    out_.end(']');
  }

  void put(const ShownSeries& one) {
    const Series& series = one.series;
    const HistoryAnalysis& found = one.analysis;
    out_.begin('{');
    text("metric", series.metric);
    text("unit", series.unit);
    text("direction", series.direction == Direction::lower_is_better ? "lower" : "higher");
    text("suite", series.suite);
    text("subject", series.subject);
    text("cell", series.cell);
    text("environment_class", series.environment_class);
    natural("left_out_other_machine", series.other_machine);
    natural("left_out_other_work", series.other_work);
    optional("limit", one.limit);
    list("points", found.points, [&](const SeriesPoint& point) { put(point); });
    list("changes", found.changes,
         [&](const HistoryChange& change) { put(change, found.points[change.index]); });
    natural("level_begin", found.level_begin);
    if (found.trend) put(*found.trend);
    if (found.newest) put(*found.newest);
    flag("breached", found.breached);
    if (found.breach_us) text("breach", timestamp(*found.breach_us * 1000));
    list("notes", found.notes, [&](const std::string& note) { out_.text(note); });
    out_.end('}');
  }

  void put(const SeriesPoint& point) {
    out_.begin('{');
    text("result", point.run);
    text("started", timestamp(point.started_us * 1000));
    if (!point.commit.empty()) text("commit", point.commit);
    number("median", point.value);
    optional("lo", point.lo);
    optional("hi", point.hi);
    if (point.spike) flag("spike", true);
    if (point.accepted) flag("accepted", true);
    out_.end('}');
  }

  void put(const HistoryChange& change, const SeriesPoint& at) {
    out_.begin('{');
    natural("index", change.index);
    text("result", at.run);
    number("before", change.before);
    number("after", change.after);
    number("ratio", change.after / change.before);
    number("p_value", change.p_value);
    flag("worse", change.worse);
    flag("confirmed", change.confirmed);
    flag("accepted", change.accepted);
    out_.end('}');
  }

  // A value with its bounds, and what `more` adds.
  template <class F>
  void bounded(const char* key, const char* name, double value, double low, double high,
               const F& more) {
    out_.key(key);
    out_.begin('{');
    number(name, value);
    number("lo", low);
    number("hi", high);
    more();
    out_.end('}');
  }

  void put(const HistoryTrend& trend) {
    bounded("trend", "per_week", trend.per_week, trend.low, trend.high, [&] {
      number("p_value", trend.p_value);
      flag("real", trend.real);
    });
  }

  void put(const HistoryNewest& newest) {
    bounded("newest", "value", newest.value, newest.low, newest.high,
            [&] { text("verdict", newest.verdict); });
  }

  JsonWriter out_;
};

}  // namespace

std::string history_json(const std::vector<ShownSeries>& all) {
  std::string text;
  HistoryWriter(text).all(all);
  return text + "\n";
}

std::string baselines_json(const Decisions& decisions) {
  std::string text;
  JsonWriter out(text);
  out.begin('[');
  for (const BaselineRow& one : decisions.baselines) {
    out.begin('{');
    for (const auto& [key, value] : {std::pair<const char*, std::string>{"name", one.name},
                                     {"result", one.run},
                                     {"made", timestamp(one.made_us * 1000)},
                                     {"note", one.note}}) {
      out.key(key);
      out.text(value);
    }
    out.end('}');
  }
  out.end(']');
  return text + "\n";
}

}  // namespace genscope::bench
