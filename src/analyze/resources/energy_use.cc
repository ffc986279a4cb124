// What was made, and the energy of the time in which it was made. Images are what the program says,
// else calls of the decoder times the batch. Images and frames are charged for the requests, or
// without requests for the whole run, less the time of loads: a model that was loaded once is no
// cost of the last image. Steps, requests and batches are charged for their own time.
//
// Stretches of requests and loads are sorted and do not overlap among themselves, so cutting the
// one out of the other is a merge.
#include "analyze/resources/energy_use.h"

#include <algorithm>
#include <initializer_list>

#include "analyze/resources/stage_use.h"
#include "analyze/stage_key.h"

namespace genscope::analysis {
namespace {

std::optional<double> positive(const Settings& settings,
                               std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const auto found = settings.find(key);
    if (found == settings.end() || !std::holds_alternative<double>(found->second)) continue;
    const double value = std::get<double>(found->second);
    if (value >= 1 && value < 1e12) return value;
  }
  return std::nullopt;
}

// Calls of the decoder that did not fail; one within another is part of it.
std::uint64_t decodings(const Run& run) {
  std::uint64_t count = 0;
  for (const Trace& trace : run.traces) {
    std::vector<bool> decodes;
    for (const Name& name : trace.names) {
      decodes.push_back(name.kind == SpanKind::stage &&
                        stage_key(name.kind, name.text) == "vae_decode");
    }
    const SpanColumns& spans = trace.spans;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (!decodes[spans.name[i]]) continue;
      if ((spans.flags[i] & (kSpanFailed | kSpanUnfinished)) != 0) continue;
      const std::uint32_t parent = spans.parent[i];
      if (parent < spans.size() && decodes[spans.name[parent]]) continue;
      ++count;
    }
  }
  return count;
}

Stretches of_kind(const MeteredRows& rows, SpanKind kind, std::size_t host) {
  Stretches all;
  for (const MeteredRow& row : rows.rows) {
    if (row.kind != kind) continue;
    all.insert(all.end(), row.of_host[host].begin(), row.of_host[host].end());
  }
  unite(all);
  return all;
}

// The time that images and frames are charged for.
Stretches making(const MeteredRows& rows, std::size_t host, Interval whole) {
  const Stretches loads = of_kind(rows, SpanKind::load, host);
  const Stretches requests = of_kind(rows, SpanKind::request, host);
  if (requests.empty()) return without(whole, loads);
  Stretches rest;
  std::size_t first = 0;  // loads before it end before the request begins
  for (const Interval& request : requests) {
    while (first < loads.size() && loads[first].end <= request.begin) ++first;
    std::size_t last = first;
    while (last < loads.size() && loads[last].begin < request.end) ++last;
    const Stretches part =
        without(request, Stretches(loads.begin() + static_cast<std::ptrdiff_t>(first),
                                   loads.begin() + static_cast<std::ptrdiff_t>(last)));
    rest.insert(rest.end(), part.begin(), part.end());
  }
  return rest;
}

}  // namespace

Made things_made(const Run& run, const Settings& settings, const Analysis& analysis) {
  Made made;
  std::optional<double> images = positive(settings, {"images", "set.images", "num_images"});
  if (!images) {
    const auto decoded = static_cast<double>(decodings(run));
    const double batch = positive(settings, {"batch", "batch_size", "set.batch"}).value_or(1);
    const auto said = static_cast<double>(analysis.requests.images.value_or(0));
    if (decoded > 0) images = std::max(decoded * batch, said);
  }
  const double frames_each = positive(settings, {"frames", "set.frames", "num_frames"}).value_or(1);
  if (analysis.diffusion.frames.value_or(0) > 0) {
    made.frames = static_cast<double>(*analysis.diffusion.frames);
  } else if (images && frames_each > 1) {
    made.frames = *images * frames_each;
  }
  if (!made.frames) made.images = images;
  return made;
}

std::vector<EnergyPerUnit> energy_per_unit(const Readings& readings, const MeteredRows& rows,
                                           const Analysis& analysis, const Made& made) {
  std::vector<EnergyPerUnit> units;
  const auto put = [&](const char* unit, double count, auto&& stretches_of) {
    if (count <= 0) return;
    EnergyOver energy;
    for (std::size_t h = 0; h < readings.hosts.size(); ++h) {
      if (readings.hosts[h].energies.empty()) continue;
      energy.add(energy_over(readings.hosts[h], stretches_of(h)));
    }
    if (!energy.joules) return;
    units.push_back(
        {unit, static_cast<std::uint64_t>(count), *energy.joules / count, energy.covered()});
  };
  const Interval whole = interval(analysis.begin_ns, analysis.wall_ns);
  const auto make = [&](std::size_t h) { return making(rows, h, whole); };
  put("image", made.images.value_or(0), make);
  put("frame", made.frames.value_or(0), make);
  const auto finished = [&](SpanKind kind) {
    double count = 0;
    for (const StageRow& row : analysis.stages) {
      if (row.kind == kind) count += static_cast<double>(row.count);
    }
    return count;
  };
  constexpr std::pair<const char*, SpanKind> kKinds[] = {
      {"step", SpanKind::step}, {"request", SpanKind::request}, {"batch", SpanKind::batch}};
  for (const auto& [unit, kind] : kKinds) {
    put(unit, finished(kind), [&, k = kind](std::size_t h) { return of_kind(rows, k, h); });
  }
  return units;
}

}  // namespace genscope::analysis
