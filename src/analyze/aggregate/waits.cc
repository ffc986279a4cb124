// Which spans are waits is decided by name, once for each name of the trace and not for each span.
// The words of all libraries are folded (case, '_', '-') and compared whole:
// "all_gather_into_tensor" is a collective, "all_gathered_rows" is a user's function.
//
// A collective shows up twice in an imported trace, as the host's call and as the device's kernel.
// The kernel is the one that waits, so where a trace has any, only kernels count; else the host's
// calls do. A wait inside another of its sort adds nothing (`inside`), and the seconds are those of
// the union, since streams overlap. Linear but for a sort of the waits.
//
// For the clocks of ranks the first kMaxMeetings ends are kept: collectives of one operation, in
// order, that every rank left at one true time.
#include "analyze/aggregate/waits.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "analyze/generation/roles.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

// Words are compared without case, '_' and '-'. Places in kMeetings are Meeting::operation - 1.
constexpr std::string_view kMeetings[] = {"allreduce", "allgather", "reducescatter", "alltoall",
                                          "barrier"};
constexpr std::string_view kOtherWaits[] = {"broadcast", "send",     "recv",           "isend",
                                            "irecv",     "sendrecv", "batchisendirecv"};
constexpr std::string_view kEndings[] = {"",      "single", "coalesced", "base",
                                         "async", "tensor", "intotensor"};
constexpr std::string_view kLibraries[] = {
    "nccl", "rccl", "gloo:", "mpi:", "ucc:", "xccl", "oneccl", "c10d::"};

template <class Words>
bool among(const Words& words, std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '_' || c == '-') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// "torch.distributed.all_reduce(t)" -> "all_reduce".
std::string_view last_word(std::string_view name) {
  name = name.substr(0, name.find_first_of("(<# "));
  const std::size_t dot = name.find_last_of(".:/");
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// The place of the collective that a text of a library names, from 1; 0: it is none of these.
std::uint8_t meeting_in(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kMeetings); ++i) {
    if (text.find(kMeetings[i]) != std::string_view::npos) return static_cast<std::uint8_t>(i + 1);
  }
  return 0;
}

// The same where the whole word must be one: "all_gather_into_tensor", not "all_gathered_rows".
std::uint8_t meeting_of(std::string_view word) {
  const std::uint8_t found = meeting_in(word);
  if (found == 0 || !word.starts_with(kMeetings[found - 1])) return 0;
  return among(kEndings, word.substr(kMeetings[found - 1].size())) ? found : 0;
}

struct Found {
  std::vector<Interval> collectives;
  std::vector<std::uint8_t> operations;  // of each: WaitName::meeting; 0 also if unfinished
  std::vector<Interval> inputs;
};

// Which tracks have steps or batches; empty: none has.
std::vector<bool> working_tracks(const Trace& trace) {
  std::vector<bool> working(trace.tracks.size());
  bool any = false;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const SpanKind kind = trace.kind(i);
    if (kind != SpanKind::step && kind != SpanKind::batch) continue;
    working[trace.spans.track[i]] = any = true;
  }
  if (!any) working.clear();
  return working;
}

Found find_waits(const Trace& trace, const std::vector<WaitName>& names, WaitKind collective) {
  Found found;
  const std::vector<bool> working = working_tracks(trace);
  const SpanColumns& spans = trace.spans;
  std::vector<bool> inside(spans.size());  // a wait of the same sort, or within one
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const WaitName name = names[spans.name[i]];
    const std::uint32_t parent = spans.parent[i];
    const bool nested = parent != kNone && inside[parent];
    const bool input = name.kind == WaitKind::input;
    const bool counts = input || name.kind == collective;
    inside[i] = nested || counts;
    if (nested || !counts) continue;
    const Interval time = interval(spans.begin_ns[i], spans.duration_ns[i]);
    if (input) {
      if (working.empty() || working[spans.track[i]]) found.inputs.push_back(time);
      continue;
    }
    const bool finished = (spans.flags[i] & kSpanUnfinished) == 0;
    found.collectives.push_back(time);
    found.operations.push_back(finished ? name.meeting : 0);
  }
  return found;
}

bool by_begin(const Interval& a, const Interval& b) { return a.begin < b.begin; }

double covered_seconds(std::vector<Interval>& times) {
  if (!std::is_sorted(times.begin(), times.end(), by_begin)) {
    std::sort(times.begin(), times.end(), by_begin);
  }
  Coverage coverage;
  std::int64_t sum = 0;
  for (const Interval& time : times) sum = add(sum, coverage.add(time));
  return static_cast<double>(sum) / 1e9;
}

std::vector<Meeting> first_meetings(const Found& found, std::int64_t unix_offset_ns) {
  std::vector<std::pair<Interval, std::uint8_t>> all;
  for (std::size_t i = 0; i < found.collectives.size(); ++i) {
    if (found.operations[i] != 0) all.emplace_back(found.collectives[i], found.operations[i]);
  }
  const auto earlier = [](const auto& a, const auto& b) { return by_begin(a.first, b.first); };
  const auto kept = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kMaxMeetings));
  std::partial_sort(all.begin(), kept, all.end(), earlier);
  std::vector<Meeting> out;
  for (auto it = all.begin(); it != kept; ++it) {
    out.push_back({add(it->first.end, unix_offset_ns), it->second});
  }
  return out;
}

}  // namespace

WaitName wait_name(std::string_view name, SpanKind kind) {
  if (name.starts_with("void ")) name.remove_prefix(5);  // of kernels
  const std::string text = plain(name);
  if (text.starts_with("aten::")) return {};
  for (const std::string_view library : kLibraries) {
    if (!text.starts_with(library)) continue;
    const bool kernel = text.find("kernel") != std::string::npos;
    const std::uint8_t meeting = meeting_in(text);
    const std::string word = plain(last_word(name));
    const bool known = meeting != 0 || kernel || among(kOtherWaits, word);
    // A library's name alone ("c10d::Work") is no collective, but for NCCL's: it has no others.
    if (!known && !text.starts_with("nccl") && !text.starts_with("rccl")) return {};
    return {kernel ? WaitKind::kernel_collective : WaitKind::host_collective, meeting};
  }
  if (text.starts_with("enumerate(dataloader)")) return {WaitKind::input, 0};
  const std::string word = plain(last_word(name));
  if (const std::uint8_t meeting = meeting_of(word); meeting != 0) {
    return {WaitKind::host_collective, meeting};
  }
  if (among(kOtherWaits, word)) return {WaitKind::host_collective, 0};
  if (span_role(name, kind) == SpanRole::input_wait) return {WaitKind::input, 0};
  return {};
}

Waits waits_of(const Trace& trace) {
  Waits waits;
  std::vector<WaitName> names;
  bool any = false, kernels = false;
  for (const Name& name : trace.names) {
    names.push_back(wait_name(name.text, name.kind));
    any |= names.back().kind != WaitKind::none;
  }
  if (!any) return waits;
  for (std::size_t i = 0; i < trace.spans.size() && !kernels; ++i) {
    kernels = names[trace.spans.name[i]].kind == WaitKind::kernel_collective;
  }
  Found found =
      find_waits(trace, names, kernels ? WaitKind::kernel_collective : WaitKind::host_collective);
  waits.collectives = found.collectives.size();
  if (!found.collectives.empty()) {
    waits.meetings = first_meetings(found, trace.process.unix_offset_ns);
    waits.collective_seconds = covered_seconds(found.collectives);
  }
  if (!found.inputs.empty()) waits.input_seconds = covered_seconds(found.inputs);
  return waits;
}

}  // namespace genscope::analysis
