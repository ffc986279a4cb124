#include "report/integrity.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/settings.h"
#include "report/format.h"
#include "report/printable.h"

namespace genscope::report {
namespace {

std::string losses(std::uint64_t spans, std::uint64_t records) {
  std::string text;
  if (spans > 0) text += counted(spans, "span", "spans");
  if (records > 0) {
    if (!text.empty()) text += " and ";
    text += counted(records, "other record", "other records");
  }
  return text;
}

void add_trace(const Trace& trace, std::vector<std::string>& out) {
  const Integrity& i = trace.integrity;
  const std::string who = fmt::format("process {}", trace.process.pid);
  if (i.in_progress) {
    out.push_back(who + " is still running: this is what it has recorded so far");
  } else if (!i.closed) {
    out.push_back(who + " ended without closing its trace (killed or crashed): this is what it " +
                  "had recorded until then");
  }
  if (i.recovered_chunks > 0) {
    out.push_back(fmt::format("{}: {} recovered from its live buffers", who,
                              counted(i.recovered_chunks, "chunk was", "chunks were")));
  }
  if (i.bad_frames > 0) {
    out.push_back(fmt::format("{}: {} of its trace skipped ({})", who,
                              counted(i.bad_frames, "damaged part", "damaged parts"),
                              counted(i.bad_bytes, "byte", "bytes")));
  }
  if (i.missing_chunks > 0) {
    out.push_back(fmt::format("{}: {} missing from its trace", who,
                              counted(i.missing_chunks, "chunk is", "chunks are")));
  }
  if (i.bad_words > 0) {
    out.push_back(fmt::format("{}: {} no sense and were left out", who,
                              counted(i.bad_words, "record made", "records made")));
  }
  if (i.unfinished_spans > 0) {
    out.push_back(fmt::format("{}: {} still open when its recording ended", who,
                              counted(i.unfinished_spans, "span was", "spans were")));
  }
  if (i.clamped_ticks > 0) {
    out.push_back(fmt::format("{}: its clock stepped back {}", who,
                              counted(i.clamped_ticks, "time", "times")));
  }
  for (const std::string& note : i.notes) {
    out.push_back(fmt::format("{}: {}", who, printable(note)));
  }
}

}  // namespace

std::vector<std::string> mixed_setting_sentences(const Run& run) {
  constexpr std::size_t kMostSettings = 6, kMostValues = 4;
  std::vector<std::string> out;
  const std::vector<analysis::MixedSetting> all = analysis::settings_that_differ(run);
  for (const analysis::MixedSetting& mixed : all) {
    if (out.size() == kMostSettings) {
      out.push_back(fmt::format(
          "{} between calls too",
          counted(all.size() - kMostSettings, "more setting differs", "more settings differ")));
      break;
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(mixed.values.size(), kMostValues); ++i) {
      text += fmt::format("{}{} ({})", i == 0 ? "" : ", ",
                          printable(analysis::setting_text(mixed.values[i].value)),
                          counted(mixed.values[i].requests, "request", "requests"));
    }
    if (mixed.values.size() > kMostValues) {
      text += fmt::format(" and {}", counted(mixed.values.size() - kMostValues, "other", "others"));
    }
    out.push_back(fmt::format("{} differs between calls: {}", printable(mixed.key), text));
  }
  return out;
}

std::vector<std::string> loss_sentences(const Analysis& analysis) {
  const RecorderSummary& r = analysis.recorder;
  if (r.lost_spans + r.lost_records == 0) return {"nothing was dropped"};
  std::vector<std::string> out;
  out.push_back(losses(r.lost_spans, r.lost_records) + " dropped because buffers were full:");
  for (const TrackRow& track : analysis.tracks) {
    if (track.lost_spans + track.lost_records == 0) continue;
    out.push_back(fmt::format("  pid {} tid {} {}: {}", track.pid, track.tid, printable(track.name),
                              losses(track.lost_spans, track.lost_records)));
  }
  return out;
}

std::vector<std::string> integrity_sentences(const Run& run) {
  std::vector<std::string> out;
  for (const Trace& trace : run.traces) add_trace(trace, out);
  for (const std::string& note : run.notes) out.push_back(printable(note));
  return out;
}

InstrumentSentences instrument_sentences(const Analysis& analysis) {
  InstrumentSentences out;
  for (const InstrumentRow& row : analysis.instrument) {
    if (row.hooked) {
      out.hooked += (out.hooked.empty() ? "hooked: " : ", ") + printable(row.target);
    } else {
      out.failed.push_back(
          fmt::format("not hooked: {}: {}", printable(row.target), printable(row.reason)));
    }
  }
  return out;
}

}  // namespace genscope::report
