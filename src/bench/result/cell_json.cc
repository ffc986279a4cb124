#include "bench/result/cell_json.h"

#include <algorithm>
#include <array>

#include "bench/result/timestamp.h"

namespace genscope::bench {
namespace {

// Keys of a sample that are not metrics. A metric of such a name goes to "metrics".
constexpr std::array<std::string_view, 10> kSampleKeys = {
    "i", "prompt", "seed", "t0", "stages", "steps_ms", "flags", "outputs", "failure", "metrics"};

bool is_sample_key(std::string_view key) {
  return std::find(kSampleKeys.begin(), kSampleKeys.end(), key) != kSampleKeys.end();
}

template <class Io, Of<Failure> S>
void failure_fields(Io& io, S& s) {
  io.choice("class", s.kind, FailureClass::cancelled);
  io.foreign("detail", s.detail);
}

}  // namespace

template <class Io, Of<StagePart> S>
void fields(Io& io, S& s) {
  io("self_s", s.seconds);
  if constexpr (std::same_as<Io, FieldWriting>) {
    if (s.steps == 0) return;
  }
  io("steps", s.steps);
}

namespace {

void steps_ms(FieldWriting& io, const std::vector<double>& steps) {
  io.custom("steps_ms", !steps.empty(), [&](FieldWriting& w) {
    w.out().begin('[');
    for (const double s : steps) w.out().thousandfold(s);
    w.out().end(']');
  });
}
void steps_ms(FieldReading& io, std::vector<double>& steps) {
  io.custom("steps_ms", true, [&](FieldReading& r) {
    r.in().elements([&] { r.in().thousandfold(steps.emplace_back()); });
  });
}

void metrics(FieldWriting& io, const std::map<std::string, double>& all) {
  std::map<std::string, double> shadowed;
  for (const auto& [key, value] : all) {
    if (is_sample_key(key)) {
      shadowed[key] = value;
    } else {
      io.always(key, value);
    }
  }
  io("metrics", shadowed);
}
void metrics(FieldReading& io, std::map<std::string, double>& all) {
  io.custom("metrics", true, [&](FieldReading& r) {
    r.in().members([&](std::string_view key) { r.in().read(all[std::string(key)]); });
  });
  // Any other key is a metric; what is null was not measured.
  if (io.unclaimed() && !io.in().null()) io.in().read(all[std::string(io.key())]);
}

}  // namespace

template <class Io, Of<Sample> S>
void fields(Io& io, S& s) {
  io("i", s.iteration);
  io("prompt", s.prompt);
  io("seed", s.seed);
  io("t0", s.started_ns);
  io("stages", s.stages);
  steps_ms(io, s.steps_s);
  io("flags", s.flags);
  io.foreign("outputs", s.outputs);
  io("failure", s.failure);
  metrics(io, s.metrics);
}

namespace {

void slot(FieldWriting& io, char value) { io("slot", std::string(1, value)); }
void slot(FieldReading& io, char& value) {
  io.custom("slot", true, [&](FieldReading& r) {
    std::string text;
    r.in().read(text);
    if (text.size() != 1 || text[0] < 'A' || text[0] > 'Z') {
      return r.in().fail("this should be one letter, A (before) or B (after)");
    }
    value = text[0];
  });
}

void started(FieldWriting& io, std::int64_t unix_ns) {
  if (unix_ns != 0) io("started", timestamp(unix_ns));
}
void started(FieldReading& io, std::int64_t& unix_ns) {
  io.custom("started", true, [&](FieldReading& r) {
    std::string text;
    r.in().read(text);
    const auto parsed = parse_timestamp(text);
    if (!parsed) return r.in().fail("this should be a time such as 2026-01-31T12:00:00.5Z");
    unix_ns = *parsed;
  });
}

}  // namespace

template <class Io, Of<Unit> S>
void fields(Io& io, S& s) {
  io("process", s.process);
  io("order_index", s.order_index);
  slot(io, s.slot);
  started(io, s.started_unix_ns);
  io("warmup_s", s.warmup_s);
  io.always("samples", s.samples);
  io("failure", s.failure);
}

template <class Io, Of<MetricStats> S>
void fields(Io& io, S& s) {
  io("n_units", s.n_units);
  io("n_samples", s.n_samples);
  io("median", s.median);
  io.interval("ci", "level", s.ci);
  io("mean", s.mean);
  io("min", s.min);
  io("max", s.max);
  io("sd", s.sd);
  io("cv", s.cv);
  io("mad", s.mad);
  io("p", s.p);
  io("hd", s.hd);
  io("acf1", s.acf1);
  io("icc", s.icc);
  io("n_eff", s.n_eff);
  io("mde", s.mde);
  io("outliers_mild", s.outliers_mild);
  io("outliers_severe", s.outliers_severe);
}

namespace {

// In the order of the axes, which a map would lose.
void params(FieldWriting& io, const Params& all) {
  io.custom("params", true, [&](FieldWriting& w) {
    w.out().begin('{');
    for (const auto& [key, value] : all) w.always(key, value);
    w.out().end('}');
  });
}
void params(FieldReading& io, Params& all) {
  io.custom("params", true, [&](FieldReading& r) {
    all.clear();
    r.in().members([&](std::string_view key) {
      r.in().read(all.emplace_back(std::string(key), std::string()).second);
    });
  });
}

// Side A in "stats", where one side alone is; others by their letter.
void slot_stats(FieldWriting& io, const Cell& cell) {
  const auto a = cell.stats.find('A');
  if (a != cell.stats.end()) io("stats", a->second);
  std::map<std::string, std::map<std::string, MetricStats>> others;
  for (const auto& [letter, stats] : cell.stats) {
    if (letter != 'A') others[std::string(1, letter)] = stats;
  }
  io("stats_by_slot", others);
}
void slot_stats(FieldReading& io, Cell& cell) {
  std::map<std::string, MetricStats> side;
  std::map<std::string, std::map<std::string, MetricStats>> others;
  io("stats", side);
  io("stats_by_slot", others);
  if (!side.empty()) cell.stats['A'] = std::move(side);
  for (auto& [letter, stats] : others) {
    if (letter.size() == 1) cell.stats[letter[0]] = std::move(stats);
  }
}

template <class Io, Of<Cell> S>
void cell_fields(Io& io, S& s) {
  io.always("id", s.id);
  params(io, s.params);
  io("status", s.status);
  io("failure", s.failure);
  io.always("units", s.units);
  slot_stats(io, s);
  io.foreign("absent", s.absent);
}

}  // namespace

void fields(FieldWriting& io, const Failure& failure) { failure_fields(io, failure); }
void fields(FieldReading& io, Failure& failure) { failure_fields(io, failure); }
void fields(FieldWriting& io, const Cell& cell) { cell_fields(io, cell); }
void fields(FieldReading& io, Cell& cell) { cell_fields(io, cell); }

void check(JsonReader& in, const Cell& cell) {
  if (cell.id.empty()) return in.fail("this cell has no \"id\"");
  constexpr std::array<std::string_view, 4> kStates = {"ok", "failed", "skipped", "cancelled"};
  if (std::find(kStates.begin(), kStates.end(), cell.status) == kStates.end()) {
    in.fail("\"status\" should be ok, failed, skipped or cancelled");
  }
}

std::string cell_to_json(const Cell& cell, bool identify) {
  std::string out;
  JsonWriter writer(out);
  FieldWriting(writer, identify).object(cell);
  return out;
}

Result<Cell> cell_from_json(std::string_view text, std::string_view name) {
  JsonReader in(text, name);
  Cell cell;
  FieldReading(in).object(cell);
  in.finish();
  if (in.error()) return *in.error();
  return cell;
}

}  // namespace genscope::bench
