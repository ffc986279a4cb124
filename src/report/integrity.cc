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

// Beyond so many they are told in one sentence.
constexpr std::size_t kMostEndedAlone = 3;
constexpr std::size_t kMostReasons = 4;

bool ended_open(const Trace& trace) {
  return !trace.integrity.closed && !trace.integrity.in_progress;
}

void add_trace(const Trace& trace, bool one_of_many, std::vector<std::string>& out) {
  const Integrity& i = trace.integrity;
  const std::string who = fmt::format("process {}", trace.process.pid);
  if (i.in_progress) {
    out.push_back(who + " is still running: this is what it has recorded so far");
  } else if (!i.closed && !one_of_many) {
    out.push_back(who +
                  " ended without closing its trace (by _exit or a signal): this is what it " +
                  "had recorded until then");
  }
  if (i.recovered_chunks > 0 && !one_of_many) {
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
    if (one_of_many && note.starts_with("the process ended without closing")) continue;
    out.push_back(fmt::format("{}: {}", who, printable(note)));
  }
}

}  // namespace

std::vector<std::string> mixed_setting_sentences(const Analysis& analysis) {
  constexpr std::size_t kMostSettings = 6, kMostValues = 4;
  std::vector<std::string> out;
  const std::vector<MixedSetting>& all = analysis.settings_that_differ;
  for (const MixedSetting& mixed : all) {
    if (out.size() == kMostSettings) {
      out.push_back(fmt::format(
          "{} between calls too",
          counted(all.size() - kMostSettings, "more setting differs", "more settings differ")));
      break;
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(mixed.values.size(), kMostValues); ++i) {
      text += fmt::format("{}{} ({})", i == 0 ? "" : ", ",
                          printable(genscope::analysis::setting_text(mixed.values[i].value)),
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
  if (r.dropped_spans + r.dropped_records == 0) return {"nothing was dropped"};
  std::vector<std::string> out;
  out.push_back(losses(r.dropped_spans, r.dropped_records) + " dropped" +
                (r.stopped.empty() ? " because buffers were full:"
                                   : ", since " + printable(r.stopped.front()) + ":"));
  for (std::size_t i = 1; i < std::min(r.stopped.size(), kMostReasons); ++i) {
    out.push_back("  and since " + printable(r.stopped[i]));
  }
  for (const TrackRow& track : analysis.tracks) {
    if (track.dropped_spans + track.dropped_records == 0) continue;
    out.push_back(fmt::format("  pid {} tid {} {}: {}", track.pid, track.tid, printable(track.name),
                              losses(track.dropped_spans, track.dropped_records)));
  }
  return out;
}

std::vector<std::string> integrity_sentences(const Run& run) {
  std::vector<std::string> out;
  const auto ended =
      static_cast<std::size_t>(std::count_if(run.traces.begin(), run.traces.end(), ended_open));
  const bool many = ended > kMostEndedAlone;
  if (many) {
    out.push_back(fmt::format(
        "{} processes ended without closing their traces (by _exit or a signal): this is what they "
        "had recorded until then",
        ended));
  }
  for (const Trace& trace : run.traces) add_trace(trace, many && ended_open(trace), out);
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
