#include "store/import/formats.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/import/names.h"
#include "store/import/python_values.h"
#include "store/import/whole_file.h"

// A snapshot says what the allocator holds at its end (segments), and what it did before, as far
// back as its ring reaches (device_traces). So levels are counted backwards: the level at the end
// less all changes since is the level at the begin.
//
// An allocation belongs to a site, the innermost frame of Python that is not torch's own, and to a
// stage, the innermost annotation (record_function) open at the time. How long it lived is no time
// that anything took, so it is no span.
//
// Lists that the file shares are walked wherever they are referred to, so records are counted
// against max_events, and of a stack kMostFrames at most are looked at, once for each stack.
namespace genscope::store {
namespace {

using Kind = PythonValues::Kind;

constexpr std::size_t kMostFrames = 256;
constexpr std::size_t kMostSites = 10'000;
constexpr std::size_t kMostDevices = 1024;

struct Site {
  std::string name = "(no stack recorded)";
  std::string file;
  std::int64_t line = 0;
};

struct Entry {
  std::string_view action;
  std::int64_t at_ns = 0, size = 0;
  std::uint64_t address = 0;
  std::uint32_t value = 0;  // the dict
};

// What one place in the program allocated in one stage.
struct SiteUse {
  std::uint64_t allocations = 0;
  std::int64_t bytes = 0, live = 0, at_peak = 0;
};

class Snapshot {
 public:
  Snapshot(const PythonValues& values, const ImportOptions& options, ForeignRead& told,
           ChromeHandler& handler)
      : values_(values), options_(options), told_(told), out_(handler, told) {}

  Status read();

 private:
  struct Annotation {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::string name;
  };
  struct Levels {
    std::int64_t requested = 0, reserved = 0;
    bool known = false;
  };

  static Error bad(const std::string& what) { return {ErrorCode::bad_data, what}; }
  std::string_view text(std::uint32_t dict, std::string_view key) const {
    return values_.text(values_.member(dict, key));
  }
  std::int64_t number(std::uint32_t dict, std::string_view key) const {
    return values_.integer_of(values_.member(dict, key)).value_or(0);
  }
  // One more record; false past the limit.
  bool counted() { return ++records_ <= options_.max_events; }

  std::vector<Entry> entries(std::uint32_t list);
  Levels levels(std::size_t device);
  void read_annotations(const std::vector<std::vector<Entry>>& devices);
  void close_annotations();
  const Annotation* stage_at(std::int64_t at_ns) const;
  const Site& site_of(std::uint32_t entry);
  void emit_device(std::size_t device, const std::vector<Entry>& entries);
  void tell_peak(const std::string& device, std::int64_t peak);
  void emit_sites(const std::string& device, std::int64_t at_ns);

  const PythonValues& values_;
  const ImportOptions& options_;
  ForeignRead& told_;
  Emitter out_;
  std::uint64_t records_ = 0;
  std::unordered_map<std::uint32_t, Site> sites_;  // by the list of frames
  const Site unknown_;
  std::vector<Annotation> annotations_;
  std::map<std::pair<std::string, std::string>, SiteUse> uses_;  // by stage and site
};

std::string short_file(std::string_view file) {
  const std::size_t slash = file.find_last_of('/');
  if (slash == file.npos || slash == 0) return std::string(file);
  const std::size_t before = file.find_last_of('/', slash - 1);
  return std::string(before == file.npos ? file : file.substr(before + 1));
}

// Frames of C++ have "??" or a source of theirs; torch's own Python says little about the program.
bool is_python(std::string_view file) { return file.ends_with(".py") || file.starts_with('<'); }
bool is_torch(std::string_view file) {
  return file.find("/torch/") != file.npos || file.starts_with("torch/");
}

const Site& Snapshot::site_of(std::uint32_t entry) {
  const std::uint32_t list = values_.member(entry, "frames");
  const std::vector<std::uint32_t>& frames = values_.of(list);
  if (values_.kind(list) != Kind::list || frames.empty()) return unknown_;
  const auto [at, fresh] = sites_.try_emplace(list);
  if (!fresh) return at->second;
  std::uint32_t chosen = frames.front();
  bool python = false;
  for (std::size_t i = 0; i < std::min(frames.size(), kMostFrames); ++i) {
    const std::string_view file = text(frames[i], "filename");
    if (!is_python(file)) continue;
    if (!python || !is_torch(file)) chosen = frames[i];
    python = true;
    if (!is_torch(file)) break;
  }
  Site& site = at->second;
  site.file = text(chosen, "filename");
  site.line = number(chosen, "line");
  const std::string_view name = text(chosen, "name");
  site.name = site.file.empty() || site.file == "??"
                  ? std::string(name.empty() ? "(frame without a name)" : name)
                  : fmt::format("{}({}): {}", short_file(site.file), site.line, name);
  return site;
}

std::vector<Entry> Snapshot::entries(std::uint32_t list) {
  std::vector<Entry> out;
  for (const std::uint32_t value : values_.of(list)) {
    if (!counted()) break;
    Entry entry;
    entry.value = value;
    entry.action = text(value, "action");
    const auto at_us = values_.integer_of(values_.member(value, "time_us"));
    constexpr std::int64_t kLastUs = std::int64_t{1} << 52;
    if (entry.action.empty()) {
      told_.complain("an entry of device_traces without an action");
      continue;
    }
    if (!at_us || *at_us < 0 || *at_us > kLastUs) {
      told_.complain("an entry of device_traces without a time_us: torch before 2.2 wrote none");
      continue;
    }
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
    entry.at_ns = *at_us * 1000;
    entry.size = std::clamp<std::int64_t>(number(value, "size"), 0, kMostBytes);
    entry.address = static_cast<std::uint64_t>(number(value, "addr"));
    out.push_back(entry);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Entry& a, const Entry& b) { return a.at_ns < b.at_ns; });
  return out;
}

Snapshot::Levels Snapshot::levels(std::size_t device) {
  Levels out;
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  for (const std::uint32_t segment : values_.of(values_.member(values_.root, "segments"))) {
    if (!counted()) break;
    if (number(segment, "device") != static_cast<std::int64_t>(device)) continue;
    out.known = true;
    const std::uint32_t requested = values_.member(segment, "requested_size");
    const std::int64_t used =
        values_.integer_of(requested).value_or(number(segment, "allocated_size"));
    out.requested = std::clamp<std::int64_t>(
        out.requested + std::clamp<std::int64_t>(used, 0, kMost), 0, kMost);
    out.reserved = std::clamp<std::int64_t>(
        out.reserved + std::clamp<std::int64_t>(number(segment, "total_size"), 0, kMost), 0, kMost);
  }
  return out;
}

// Newer files have a list of their own; older ones entries "user_defined" whose only frame says
// START or END and the name. Both have each annotation once for each device.
void Snapshot::read_annotations(const std::vector<std::vector<Entry>>& devices) {
  struct Mark {
    std::int64_t at_ns;
    bool begins;
    std::string_view name;
  };
  std::vector<Mark> marks;
  for (const std::uint32_t one : values_.of(values_.member(values_.root, "external_annotations"))) {
    if (!counted()) break;
    const auto at_us = values_.integer_of(values_.member(one, "time_us"));
    const std::string_view stage = text(one, "stage"), name = text(one, "name");
    if (!at_us || *at_us < 0 || *at_us > (std::int64_t{1} << 52) || name.empty() ||
        (stage != "START" && stage != "END")) {
      told_.complain("an entry of external_annotations without stage, name or time_us");
      continue;
    }
    marks.push_back({*at_us * 1000, stage == "START", name});
  }
  for (const std::vector<Entry>& entries : devices) {
    for (const Entry& entry : entries) {
      if (entry.action != "user_defined") continue;
      const std::vector<std::uint32_t>& frames = values_.of(values_.member(entry.value, "frames"));
      if (frames.empty()) continue;
      const std::string_view word = text(frames.front(), "name");
      const std::string_view name = text(frames.front(), "filename");
      if (word == "START" || word == "END") marks.push_back({entry.at_ns, word == "START", name});
    }
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.at_ns < b.at_ns; });
  std::vector<std::size_t> open;
  std::set<std::pair<std::string_view, bool>> at_once;  // of one time: devices repeat each other
  std::int64_t at_once_ns = -1;
  for (const Mark& mark : marks) {
    if (mark.at_ns != at_once_ns) at_once.clear();
    at_once_ns = mark.at_ns;
    if (!at_once.emplace(mark.name, mark.begins).second) continue;
    if (mark.begins) {
      open.push_back(annotations_.size());
      annotations_.push_back({mark.at_ns, -1, std::string(mark.name)});
      continue;
    }
    constexpr std::size_t kMostOpen = 256;
    for (std::size_t k = open.size(); k-- > 0 && open.size() - k <= kMostOpen;) {
      if (annotations_[open[k]].name != mark.name) continue;
      annotations_[open[k]].end_ns = mark.at_ns;
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(k));
      break;
    }
  }
}

// The innermost that is open; annotations_ ascend by their begin.
const Snapshot::Annotation* Snapshot::stage_at(std::int64_t at_ns) const {
  constexpr std::size_t kMostBack = 256;  // enough for any nesting that people write
  auto at = std::upper_bound(annotations_.begin(), annotations_.end(), at_ns,
                             [](std::int64_t t, const Annotation& a) { return t < a.begin_ns; });
  for (std::size_t n = 0; n < kMostBack && at != annotations_.begin(); ++n) {
    --at;
    if (at->end_ns < 0 || at->end_ns > at_ns) return &*at;
  }
  return nullptr;
}

void Snapshot::emit_device(std::size_t device, const std::vector<Entry>& entries) {
  const std::string name = fmt::format("cuda:{}", device);
  const std::string allocator = allocator_of(1, static_cast<double>(device));
  const std::string row = "allocator " + name;
  const Levels end = levels(device);
  // Who frees an allocation twice, once as asked for and once as done, frees it at the first.
  std::unordered_map<std::uint64_t, std::size_t> live;  // address to the entry that allocated it
  std::unordered_set<std::uint64_t> awaited;
  struct Change {
    std::int64_t requested = 0, reserved = 0;
  };
  std::vector<Change> changes(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    Change& change = changes[i];
    if (e.action == "alloc") {
      if (live.contains(e.address)) told_.complain("an address is allocated twice");
      live[e.address] = i;
      awaited.erase(e.address);
      change.requested = e.size;
    } else if (e.action == "free_requested" || e.action == "free_completed" || e.action == "free") {
      const bool done = e.action == "free_completed" && awaited.erase(e.address) > 0;
      if (done) continue;
      if (e.action == "free_requested") awaited.insert(e.address);
      const auto found = live.find(e.address);
      change.requested = -(found != live.end() ? entries[found->second].size : e.size);
      if (found != live.end()) live.erase(found);
    } else if (e.action == "segment_alloc" || e.action == "segment_map") {
      change.reserved = e.size;
    } else if (e.action == "segment_free" || e.action == "segment_unmap") {
      change.reserved = -e.size;
    }
  }
  Change level{end.requested, end.reserved};
  for (const Change& change : changes) {
    level.requested -= change.requested;
    level.reserved -= change.reserved;
  }
  // A history that does not agree with the state at its end: levels are not below nothing.
  Change lowest, at = level;
  for (const Change& change : changes) {
    at.requested += change.requested;
    at.reserved += change.reserved;
    lowest.requested = std::min(lowest.requested, at.requested);
    lowest.reserved = std::min(lowest.reserved, at.reserved);
  }
  lowest.requested = std::min(lowest.requested, level.requested);
  lowest.reserved = std::min(lowest.reserved, level.reserved);
  if (!end.known || lowest.requested < 0 || lowest.reserved < 0) {
    told_.notes.push_back(fmt::format(
        "the levels of {} do not add up to its segments: they are at least what is shown", name));
  }
  level.requested -= lowest.requested;
  level.reserved -= lowest.reserved;

  const auto counters = [&](std::int64_t at_ns, const Change& now) {
    out_.start('C', allocator, "", at_ns)
        .number("allocator_requested_bytes", now.requested)
        .number("allocator_reserved_bytes", now.reserved)
        .send();
  };
  const auto changed = [&](const Entry& e, std::string_view type, std::int64_t bytes) {
    out_.start('i', "memory", "", e.at_ns).on(row).text("type", type).number("bytes", bytes).send();
  };
  if (!entries.empty()) counters(entries.front().at_ns, level);
  std::unordered_map<std::uint64_t, SiteUse*> holding;  // by address
  std::vector<SiteUse*> touched;                        // whose live bytes differ from the peak's
  std::int64_t peak = level.requested, peak_at_ns = entries.empty() ? 0 : entries.front().at_ns;
  const std::int64_t last_ns = entries.empty() ? 0 : entries.back().at_ns;
  uses_.clear();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    level.requested += changes[i].requested;
    level.reserved += changes[i].reserved;
    if (changes[i].requested != 0 || changes[i].reserved != 0) counters(e.at_ns, level);
    if (e.action == "alloc") {
      const Site& site = site_of(e.value);
      const Annotation* const stage = stage_at(e.at_ns);
      changed(e, "alloc", e.size);
      std::pair<std::string, std::string> key{stage != nullptr ? stage->name : "", site.name};
      if (uses_.size() >= kMostSites && !uses_.contains(key)) key.second = "(other sites)";
      SiteUse& use = uses_[key];
      use.allocations++;
      use.bytes += e.size;
      use.live += e.size;
      holding[e.address] = &use;
      touched.push_back(&use);
    } else if (changes[i].requested < 0) {
      changed(e, "free", -changes[i].requested);
      const auto found = holding.find(e.address);
      if (found != holding.end()) {
        found->second->live += changes[i].requested;
        touched.push_back(found->second);
        holding.erase(found);
      }
    } else if (e.action == "oom") {
      const Site& site = site_of(e.value);
      out_.start('i', "out_of_memory", "", e.at_ns)
          .on(row)
          .number("bytes", e.size)
          .text("site", site.name);
      const std::uint32_t left = values_.member(e.value, "device_free");
      if (const auto free = values_.integer_of(left)) out_.number("device_free_bytes", *free);
      out_.send();
    }
    if (level.requested > peak) {
      peak = level.requested;
      peak_at_ns = e.at_ns;
      for (SiteUse* const use : touched) use->at_peak = use->live;
      touched.clear();
    }
  }
  if (entries.empty()) return;
  out_.start('i', "allocator_peak", "", peak_at_ns)
      .on(row)
      .text("device", name)
      .number("requested_bytes", peak)
      .send();
  tell_peak(name, peak);
  emit_sites(name, last_ns);
}

// Says who held the most when most was held.
void Snapshot::tell_peak(const std::string& device, std::int64_t peak) {
  constexpr std::size_t kTold = 5;
  using Held = std::pair<std::int64_t, std::string>;
  std::vector<Held> held;
  for (const auto& [key, use] : uses_) {
    if (use.at_peak <= 0) continue;
    held.emplace_back(use.at_peak,
                      key.first.empty() ? key.second : key.second + " (in " + key.first + ")");
  }
  std::stable_sort(held.begin(), held.end(),
                   [](const Held& a, const Held& b) { return a.first > b.first; });
  std::string text = fmt::format("{} held at most {} bytes", device, peak);
  for (std::size_t i = 0; i < std::min(held.size(), kTold); ++i) {
    text += fmt::format("{} {} by {}", i == 0 ? ":" : ",", held[i].first, held[i].second);
  }
  if (held.size() > kTold) text += fmt::format(", the rest by {} more sites", held.size() - kTold);
  told_.notes.push_back(text);
}

void Snapshot::emit_sites(const std::string& device, std::int64_t at_ns) {
  const std::string row = "allocator " + device;
  for (const auto& [key, use] : uses_) {
    out_.start('i', "allocation_site", "", at_ns)
        .on(row)
        .text("device", device)
        .text("stage", key.first)
        .text("site", key.second)
        .number("allocations", use.allocations)
        .number("bytes", use.bytes)
        .number("peak_bytes", use.at_peak)
        .number("live_bytes", use.live)
        .send();
  }
}

void Snapshot::close_annotations() {
  std::int64_t last_ns = 0;
  for (const Annotation& a : annotations_) last_ns = std::max({last_ns, a.begin_ns, a.end_ns});
  for (const Annotation& a : annotations_) {
    const std::int64_t end = a.end_ns < 0 ? last_ns : a.end_ns;
    out_.start('X', a.name, "user_annotation", a.begin_ns)
        .on("annotations")
        .lasting(std::max<std::int64_t>(end - a.begin_ns, 0))
        .send();
  }
}

Status Snapshot::read() {
  if (values_.kind(values_.root) != Kind::dict) {
    return bad(fmt::format("it is no memory snapshot of PyTorch: it holds {}, not a dict",
                           store::name(values_.kind(values_.root))));
  }
  const std::uint32_t traces = values_.member(values_.root, "device_traces");
  if (values_.kind(values_.member(values_.root, "segments")) != Kind::list ||
      values_.kind(traces) != Kind::list) {
    return bad(
        "it is no memory snapshot of PyTorch: it has no lists `segments` and `device_traces`; "
        "torch.cuda.memory._dump_snapshot(FILE) writes one");
  }
  std::vector<std::vector<Entry>> devices;
  std::size_t filled = 0;
  for (const std::uint32_t list : values_.of(traces)) {
    if (devices.size() >= kMostDevices) break;
    devices.push_back(entries(list));
    filled += devices.back().empty() ? 0 : 1;
  }
  if (filled == 0) {
    told_.notes.push_back(
        "the snapshot has no history: call torch.cuda.memory._record_memory_history() before the "
        "part to look at");
  }
  read_annotations(devices);
  for (std::size_t i = 0; i < devices.size(); ++i) emit_device(i, devices[i]);
  close_annotations();
  told_.stopped = records_ > options_.max_events;
  return Done{};
}

}  // namespace

Result<ForeignRead> read_torch_memory(const std::string& path, const ImportOptions& options,
                                      ChromeHandler& handler) {
  const Result<std::string> bytes = whole_file(path, options, "a memory snapshot");
  if (!bytes.ok()) return bytes.error();
  const Result<PythonValues> values = read_pickle(*bytes);
  if (!values.ok()) {
    return Error{values.error().code,
                 fmt::format("{}: the pickle cannot be read as a memory snapshot of PyTorch: {}; "
                             "torch.cuda.memory._dump_snapshot(FILE) writes one",
                             path, values.error().message)};
  }
  ForeignRead told;
  told.bytes = bytes->size();
  if (const Status done = Snapshot(*values, options, told, handler).read(); !done) {
    return Error{done.error().code, path + ": " + done.error().message};
  }
  return told;
}

}  // namespace genscope::store
