#include <random>

#include "base/text.h"
#include "genscope/store.h"
#include "genscope/version.h"
#include "store/import/chrome_mapper.h"
#include "store/import/chrome_reader.h"
#include "store/import/formats.h"

namespace genscope {
namespace store {
namespace {

std::string random_id() {
  std::random_device device;
  std::array<std::uint8_t, 16> bytes{};
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(device());
  return base::hex(bytes);
}

std::string counted(std::uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

// What a reader of the run must know: it is less than the file, or not quite what the file says.
std::vector<std::string> notes(const ImportSummary& s, const Arranged& arranged) {
  std::vector<std::string> out;
  std::string details;
  for (const std::string& problem : s.problems) details += (details.empty() ? "" : "; ") + problem;
  if (s.malformed > 0) {
    out.push_back(counted(s.malformed, "malformed event", "malformed events") +
                  " skipped by the import (" + details + ")");
  } else if (s.truncated) {
    out.push_back("the imported file was not whole (" + details + ")");
  }
  if (s.stopped) out.push_back("the import stopped before the end of the file");
  if (s.unmatched_ends > 0) {
    out.push_back(counted(s.unmatched_ends, "end", "ends") + " without a begin skipped");
  }
  if (arranged.far_away > 0) {
    out.push_back(counted(arranged.far_away, "record", "records") +
                  " with times more than a year from the others skipped");
  }
  return out;
}

void describe(const ChromeMapper::Facts& facts, std::int64_t first_ns, Trace& trace) {
  ProcessInfo& p = trace.process;
  p.trace_id = facts.trace_id.empty() ? random_id() : facts.trace_id;
  // Of its own, so that files are put beside each other by their own clocks, not by this host's.
  p.boot_id = "imported-" + p.trace_id;
  p.version = GENSCOPE_VERSION_STRING;
  p.clock = "imported";
  p.rank = facts.rank;
  p.world_size = facts.world_size;
  constexpr std::int64_t kLast = std::int64_t{1} << 60;
  std::int64_t unix_ns = 0;
  const bool fits = !__builtin_add_overflow(facts.base_ns.value_or(0), first_ns, &unix_ns) &&
                    unix_ns >= 0 && unix_ns < kLast * 2;
  p.unix_offset_ns = (fits ? unix_ns : 0) - p.started_ns;
}

// What the mapper has collected, as a trace with its story. `out.summary` says already what was
// read.
void finish(ChromeMapper& mapper, Imported& out) {
  ImportSummary& s = out.summary;
  mapper.finish();
  s.events = mapper.counts().events;
  s.flows = mapper.counts().flows;
  s.other = mapper.counts().other;
  s.unmatched_ends = mapper.counts().unmatched_ends;
  s.unfinished = mapper.counts().unfinished;
  const ChromeMapper::Facts facts = mapper.facts();
  Arranged arranged = arrange(mapper.take());
  s.overlaps = arranged.overlaps;
  s.trimmed = arranged.trimmed;
  s.linked = arranged.linked;
  s.unlinked = arranged.unlinked;
  out.trace = std::move(arranged.trace);
  describe(facts, arranged.first_ns, out.trace);
  out.trace.integrity.closed = true;
  out.trace.integrity.notes = notes(s, arranged);
  out.trace.integrity.unfinished_spans = s.unfinished;
}

using ReadForeign = Result<ForeignRead> (*)(const std::string&, const ImportOptions&,
                                            ChromeHandler&);

// Null: it is read in pieces, as a Chrome trace.
ReadForeign reader_of(Format format) {
  switch (format) {
    case Format::speedscope:
      return read_speedscope;
    case Format::cprofile:
      return read_cprofile;
    case Format::torch_memory:
      return read_torch_memory;
    case Format::nsys:
      return read_nsys;
    case Format::chrome:
      break;
  }
  return nullptr;
}

Result<Imported> import_foreign(ReadForeign read_file, const std::string& path,
                                const ImportOptions& options) {
  ChromeMapper mapper(options);
  const Result<ForeignRead> read = read_file(path, options, mapper);
  if (!read.ok()) return read.error();
  Imported out;
  out.summary.json_bytes = read->bytes;
  out.summary.malformed = read->malformed;
  out.summary.stopped = read->stopped || mapper.full();
  if (read->malformed > 0) out.summary.problems.push_back(read->problem);
  finish(mapper, out);
  std::vector<std::string>& told = out.trace.integrity.notes;
  told.insert(told.end(), read->notes.begin(), read->notes.end());
  return out;
}

}  // namespace
}  // namespace store

Result<Imported> import_chrome_trace(const std::string& path, const ImportOptions& options) {
  if (const auto read = store::reader_of(store::format_of(path, options)); read != nullptr) {
    return store::import_foreign(read, path, options);
  }
  Result<store::ByteSource> source =
      store::ByteSource::open(path, {options.max_bytes, options.max_ratio});
  if (!source.ok()) return source.error();
  store::ChromeReader reader(std::move(*source), path);
  store::ChromeMapper mapper(options);
  bool cancelled = false;
  if (options.progress) {
    mapper.on_progress([&] {
      cancelled = !options.progress(reader.source().consumed(), reader.source().file_bytes());
      return !cancelled;
    });
  }
  if (Status read = reader.read(mapper); !read.ok()) {
    return Error{read.error().code, read.error().message + store::remedy_for(path)};
  }
  Imported out;
  ImportSummary& s = out.summary;
  s.json_bytes = reader.bytes();
  s.malformed = reader.malformed();
  s.repaired = reader.repaired();
  s.truncated = reader.truncated();
  s.stopped = cancelled || mapper.full();
  s.problems = reader.problems();
  store::finish(mapper, out);
  return out;
}

}  // namespace genscope
