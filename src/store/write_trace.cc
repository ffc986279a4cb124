#include <unordered_map>

#include "base/text.h"
#include "genscope/internal/word.h"
#include "genscope/store.h"
#include "genscope/version.h"
#include "store/check_columns.h"
#include "store/lane_encoder.h"
#include "store/lane_plan.h"
#include "store/trace_output.h"
#include "trace/meta.h"

namespace genscope {
namespace store {
namespace {

std::string texts_json(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    out += base::json_quote(text);
  }
  return out + "]";
}

// Times are written as they are: a tick is a nanosecond.
std::string process_json(const Trace& trace) {
  const ProcessInfo& p = trace.process;
  std::string json = "{";
  const auto add = [&](const char* key, const std::string& value) {
    json += (json.size() > 1 ? "," : "") + base::json_quote(key) + ":" + value;
  };
  const auto text = [&](const char* key, const std::string& value) {
    add(key, base::json_quote(value));
  };
  text("trace_id", p.trace_id);
  text("version", p.version.empty() ? GENSCOPE_VERSION_STRING : p.version);
  add("segment", "0");
  add("pid", std::to_string(p.pid));
  add("ppid", std::to_string(p.ppid));
  text("host", p.host);
  text("boot_id", p.boot_id);
  add("command", texts_json(p.command));
  text("clock", p.clock.empty() ? "monotonic" : p.clock);
  add("ticks_per_second", "1000000000");
  add("started_ticks", std::to_string(p.started_ns));
  add("started_monotonic_ns", std::to_string(p.started_ns));
  add("started_unix_ns", std::to_string(p.started_ns + p.unix_offset_ns));
  text("live", "");
  add("keep_newest", "false");
  if (p.rank) add("rank", std::to_string(*p.rank));
  if (p.world_size) add("world_size", std::to_string(*p.world_size));
  if (!trace.integrity.notes.empty()) add("notes", texts_json(trace.integrity.notes));
  return json + "}";
}

// Sites of the names of guest tracks; a name that the trace lacks is added to `extra`.
std::unordered_map<std::uint32_t, std::uint32_t> guest_sites(const Trace& trace,
                                                             const LanePlan& plan,
                                                             std::vector<std::string>& extra) {
  std::unordered_map<std::uint32_t, std::uint32_t> sites;
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (std::uint32_t track = 0; track < trace.tracks.size(); ++track) {
    if (!plan.is_guest(track)) continue;
    if (known.empty()) {
      for (std::uint32_t n = 0; n < trace.names.size(); ++n) {
        known.try_emplace(trace.names[n].text, site_of(n));
      }
    }
    const std::string& text = trace.tracks[track].name;
    const auto next = static_cast<std::uint32_t>(trace.names.size() + extra.size());
    const auto [at, fresh] = known.try_emplace(text, site_of(next));
    if (fresh) extra.push_back(text);
    sites[track] = at->second;
  }
  return sites;
}

void put_meta(LaneWords& words, const trace::Meta& meta) {
  std::array<std::uint64_t, trace::kMaxMetaWords> buffer{};
  const std::size_t count = trace::encode(meta, buffer.data());
  words.room(count, 0);
  for (std::size_t i = 0; i < count; ++i) words.put(buffer[i]);
}

void put_definitions(const Trace& trace, const LanePlan& plan,
                     const std::vector<std::string>& extra, TraceOutput& out) {
  LaneWords words;
  words.start(0, &out);
  const std::int64_t started = trace.process.started_ns;
  base::ClockSnapshot clock;
  clock.ticks = static_cast<std::uint64_t>(started);
  clock.monotonic_ns = started;
  clock.realtime_ns = started + trace.process.unix_offset_ns;
  put_meta(words, clock);
  const auto name = [&](std::size_t n, SpanKind kind, std::string_view text) {
    const std::uint32_t site = site_of(static_cast<std::uint32_t>(n));
    if (site <= internal::kMaxUserSite) put_meta(words, trace::SiteMeta{site, kind, text});
  };
  for (std::size_t n = 0; n < trace.names.size(); ++n) {
    name(n, trace.names[n].kind, trace.names[n].text);
  }
  for (std::size_t n = 0; n < extra.size(); ++n) {
    name(trace.names.size() + n, SpanKind::none, extra[n]);
  }
  if (trace.names.size() + extra.size() > internal::kMaxUserSite) {
    put_meta(words, trace::SiteMeta{internal::kSiteOther, SpanKind::none, "(other names)"});
  }
  for (std::uint32_t lane = 0; lane < plan.track_of_lane.size(); ++lane) {
    const TrackInfo& info = trace.tracks[plan.track_of_lane[lane]];
    put_meta(words, trace::ThreadMeta{lane + 1, info.tid, info.name});
  }
  words.finish();
}

}  // namespace
}  // namespace store

Status write_trace(const Trace& trace, const std::string& path) {
  if (Status fits = store::check_columns(trace); !fits.ok()) return fits;
  const store::LanePlan plan = store::plan_lanes(trace);
  if (plan.track_of_lane.size() >= internal::kMaxLane) {
    return Error{ErrorCode::invalid_argument,
                 "this Trace cannot be written: it has more tracks than a file can have lanes"};
  }
  std::vector<std::string> extra;
  const auto sites = store::guest_sites(trace, plan, extra);
  store::TraceOutput out(path);
  out.document(trace::FrameType::process, store::process_json(trace));
  store::put_definitions(trace, plan, extra, out);
  store::LaneEncoder encoder(trace, plan, sites);
  if (plan.forward_references) encoder.encode(nullptr);
  encoder.encode(&out);
  out.document(trace::FrameType::close, "{\"stopped\":null}");
  return out.commit();
}

}  // namespace genscope
