// A line is written with one write(), so that lines of a process that dies are whole but for the
// last. fdatasync() comes at most once a second: a benchmark of a thousand short units must not
// wait for the disk a thousand times, and a power cut costs at most the units of a second.
#include "bench/suite/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "bench/result/cell_json.h"
#include "bench/result/comparison_json.h"
#include "bench/suite/unit_runner.h"

namespace genscope::bench {
namespace {

constexpr std::string_view kSumKey = ",\"sum\":\"";
constexpr std::size_t kSumTail = kSumKey.size() + 16 + 2;  // ,"sum":"0123456789abcdef"}
constexpr std::string_view kHeaderStart = "{\"kind\":\"header\",";
constexpr std::string_view kUnitStart = "{\"kind\":\"unit\",\"head\":";
constexpr std::string_view kUnitCell = ",\"cell\":";  // within a string its quotes were escaped
constexpr std::string_view kCellStart = "{\"kind\":\"cell\",\"cell\":";
constexpr std::string_view kLoadStart = "{\"kind\":\"load\",\"load\":";
constexpr std::string_view kJournalSchema = "genscope.bench.journal/2";
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::int64_t kSyncNs = 1'000'000'000;

std::string sealed(std::string body) {
  const std::uint64_t sum = base::checksum(body.data(), body.size());
  return fmt::format("{}{}{:016x}\"}}\n", body, kSumKey, sum);
}

// The line without its sum; nothing if it is damaged.
std::optional<std::string_view> unsealed(std::string_view line) {
  if (line.size() <= kSumTail) return std::nullopt;
  const std::string_view body = line.substr(0, line.size() - kSumTail);
  const std::uint64_t sum = base::checksum(body.data(), body.size());
  const std::string tail = fmt::format("{}{:016x}\"}}", kSumKey, sum);
  if (line.substr(body.size()) != tail) return std::nullopt;
  return body;
}

std::string header_body(const JournalHeader& header) {
  return fmt::format(
      "{}\"schema\":\"{}\",\"id\":{},\"suite\":{},\"suite_hash\":{},\"seed\":{},\"started\":{},"
      "\"environment\":{},\"only\":{}",
      kHeaderStart, kJournalSchema, base::json_quote(header.id), base::json_quote(header.suite),
      base::json_quote(header.suite_hash), header.seed, base::json_quote(header.started),
      base::json_quote(header.environment), base::json_quote(header.only));
}

Result<JournalHeader> header_of(std::string_view body, std::string_view file) {
  const base::JsonObject json(std::string(body) + "}");
  if (!json.valid() || json.text("schema") != kJournalSchema) {
    return Error{ErrorCode::bad_data,
                 fmt::format("{}: written by another version of genscope, it is {} and not {}",
                             file, json.text("schema"), kJournalSchema)};
  }
  return JournalHeader{.id = json.text("id"),
                       .suite = json.text("suite"),
                       .suite_hash = json.text("suite_hash"),
                       .started = json.text("started"),
                       .environment = json.text("environment"),
                       .seed = json.natural("seed", 1),
                       .only = json.text("only")};
}

std::string head_text(const UnitHead& head) {
  std::string out;
  JsonWriter writer(out);
  writer.begin('{');
  writer.key("id");
  writer.text(head.cell);
  writer.key("order_index");
  writer.natural(head.order_index);
  writer.key("good");
  writer.flag(head.good);
  writer.key("seconds");
  writer.number(head.seconds);
  if (head.latency_s) {
    writer.key("latency_s");
    writer.number(*head.latency_s);
  }
  writer.end('}');
  return out;
}

bool read_head(std::string_view text, std::string_view file, UnitHead& head) {
  JsonReader in(text, file);
  in.members([&](std::string_view key) {
    if (key == "id") return in.read(head.cell);
    if (key == "order_index") return in.read(head.order_index);
    if (key == "good") return in.read(head.good);
    if (key == "seconds") return in.read(head.seconds);
    if (key == "latency_s") return in.read(head.latency_s.emplace());
    in.skip();
  });
  in.finish();
  return in.ok();
}

bool give_unit(std::string_view body, std::string_view file,
               const std::function<void(JournalUnit&&)>& take) {
  const std::string_view rest = body.substr(kUnitStart.size());
  const std::size_t end = rest.find(kUnitCell);
  JournalUnit unit;
  if (end == std::string_view::npos || !read_head(rest.substr(0, end), file, unit.head)) {
    return false;
  }
  unit.cell = rest.substr(end + kUnitCell.size());
  if (take) take(std::move(unit));
  return true;
}

bool give_cell(std::string_view body, std::string_view file,
               const std::function<void(Cell&&)>& take) {
  Result<Cell> cell = cell_from_json(body.substr(kCellStart.size()), file);
  if (!cell) return false;
  if (take) take(std::move(*cell));
  return true;
}

bool give_load(std::string_view body, std::string_view file,
               const std::function<void(LoadResultSummary&&)>& take) {
  Result<LoadResultSummary> load = load_from_json(body.substr(kLoadStart.size()), file);
  if (!load) return false;
  if (take) take(std::move(*load));
  return true;
}

// Lines as they come. The first error stays.
class JournalLines {
 public:
  JournalLines(std::string_view file, const JournalVisitor& visitor)
      : file_(file), visitor_(visitor) {}

  // What is left: a line that has no end yet. At the end of all, that is a line, too.
  std::string_view take(std::string_view text, bool last) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos && !last) return text;
      line(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return text;
  }

  Result<JournalRead> end() {
    if (failed_) return *failed_;
    if (has_header_) return std::move(read_);
    return Error{
        ErrorCode::bad_data,
        fmt::format("{}: not a journal, its first line is missing; run the suite anew", file_)};
  }

 private:
  void line(std::string_view text) {
    if (text.empty() || failed_) return;
    ++read_.lines;
    const std::optional<std::string_view> body = unsealed(text);
    if (!body || !take_body(*body)) ++read_.damaged;
  }

  bool take_body(std::string_view body) {
    if (body.starts_with(kUnitStart)) return give_unit(body, file_, visitor_.unit);
    if (body.starts_with(kCellStart)) return give_cell(body, file_, visitor_.cell);
    if (body.starts_with(kLoadStart)) return give_load(body, file_, visitor_.load);
    if (!body.starts_with(kHeaderStart)) return false;
    if (has_header_) return true;
    Result<JournalHeader> header = header_of(body, file_);
    if (header) {
      read_.header = std::move(*header);
      has_header_ = true;
    } else {
      failed_ = header.error();
    }
    return true;
  }

  std::string_view file_;
  const JournalVisitor& visitor_;
  JournalRead read_;
  bool has_header_ = false;
  std::optional<Error> failed_;
};

Result<base::UniqueFd> open_locked(const std::string& path, int flags) {
  base::UniqueFd fd(::open(path.c_str(), flags | O_WRONLY | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.valid()) return base::errno_error("cannot open", path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}: another genscope writes to it; wait for its end", path)};
  }
  return fd;
}

}  // namespace

Result<JournalRead> read_journal(std::string_view text, std::string_view file,
                                 const JournalVisitor& visitor) {
  JournalLines lines(file, visitor);
  lines.take(text, true);
  return lines.end();
}

Result<JournalRead> read_journal_file(const std::string& path, const JournalVisitor& visitor) {
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return base::errno_error("cannot open", path, errno);
  JournalLines lines(path, visitor);
  std::string block;
  while (true) {
    const std::size_t kept = block.size();
    block.resize(kept + kBlockBytes);
    const ssize_t got = ::read(fd.get(), block.data() + kept, kBlockBytes);
    if (got < 0 && errno != EINTR) return base::errno_error("cannot read", path, errno);
    block.resize(kept + (got > 0 ? static_cast<std::size_t>(got) : 0));
    const std::string_view rest = lines.take(block, got == 0);
    block.erase(0, block.size() - rest.size());
    if (got == 0) return lines.end();
  }
}

Result<JournalHeader> read_journal_header(const std::string& path) {
  std::ifstream file(path);
  if (!file) return base::errno_error("cannot open", path, errno);
  std::string line;
  std::getline(file, line);
  const Result<JournalRead> read = read_journal(line, path, {});
  if (!read) return read.error();
  return read->header;
}

Result<Journal> Journal::create(const std::string& path, const JournalHeader& header) {
  Result<base::UniqueFd> fd = open_locked(path, O_CREAT | O_EXCL);
  if (!fd) return fd.error();
  Journal journal(path, std::move(*fd));
  if (Status done = journal.write(sealed(header_body(header))); !done) return done.error();
  return journal;
}

Result<Journal> Journal::reopen(const std::string& path) {
  Result<base::UniqueFd> fd = open_locked(path, 0);
  if (!fd) return fd.error();
  Journal journal(path, std::move(*fd));
  // The last line may be torn: what follows it begins a line of its own.
  if (Status done = journal.write("\n"); !done) return done.error();
  return journal;
}

UnitHead head_of(const Cell& one_unit) {
  UnitHead head;
  head.cell = one_unit.id;
  if (one_unit.units.empty()) return head;
  const Unit& unit = one_unit.units.front();
  head.order_index = unit.order_index;
  head.good = !failure_of_unit(unit);
  for (const double warmup : unit.warmup_s) head.seconds += warmup;
  for (const Sample& sample : unit.samples) {
    const auto latency = sample.metrics.find("latency_s");
    if (latency != sample.metrics.end()) head.seconds += latency->second;
  }
  const std::vector<double> value = unit_values(one_unit, unit.slot, "latency_s");
  if (!value.empty()) head.latency_s = value.front();
  return head;
}

Status Journal::unit(const Cell& one_unit) {
  return write(sealed(fmt::format("{}{}{}{}", kUnitStart, head_text(head_of(one_unit)), kUnitCell,
                                  cell_to_json(one_unit, true))));
}

Status Journal::cell(const Cell& outcome) {
  return write(sealed(fmt::format("{}{}", kCellStart, cell_to_json(outcome, true))));
}

Status Journal::load(const LoadResultSummary& summary) {
  return write(sealed(fmt::format("{}{}", kLoadStart, load_to_json(summary))));
}

Status Journal::write(std::string line) {
  if (failed_) return *failed_;
  if (const int error = base::write_all(fd_.get(), line.data(), line.size()); error != 0) {
    failed_ = base::errno_error("cannot write", path_, error);
    return *failed_;
  }
  if (base::monotonic_ns() - synced_ns_ >= kSyncNs) sync();
  return Done{};
}

void Journal::sync() noexcept {
  if (!fd_.valid()) return;
  ::fdatasync(fd_.get());
  synced_ns_ = base::monotonic_ns();
}

}  // namespace genscope::bench
