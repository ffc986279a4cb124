#include "store/import/formats.h"

#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

// NVIDIA's tables, as the documentation of the export has them: times are nanoseconds since the
// session began, texts are numbers in StringIds, a globalTid holds the process and the thread.
// Which tables and columns there are depends on what was traced and on the version, so each is
// looked for and a column that is missing is NULL.
//
// The file is somebody else's: it is opened for reading only, as a file that nobody changes, its
// views, triggers and virtual tables are never touched and its schema may call no function.
namespace genscope::store {
namespace {

constexpr std::size_t kMostTexts = 5'000'000;

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementPtr = std::unique_ptr<sqlite3_stmt, Finalize>;

// A row as the reader of a table sees it.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  bool has(int column) const { return sqlite3_column_type(statement_, column) != SQLITE_NULL; }
  bool is_integer(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_INTEGER;
  }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view text(int column) const {
    const auto* const data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    const int size = sqlite3_column_bytes(statement_, column);
    return data != nullptr ? std::string_view(data, static_cast<std::size_t>(size))
                           : std::string_view();
  }

 private:
  sqlite3_stmt* statement_;
};

class NsysFile {
 public:
  NsysFile(const std::string& path, const ImportOptions& options, ForeignRead& told,
           ChromeHandler& handler)
      : path_(path), options_(options), told_(told), handler_(handler), out_(handler, told) {}

  Status read();

 private:
  Status open();
  Error sqlite_error(std::string_view doing) const {
    return {ErrorCode::bad_data,
            fmt::format("{} {}: {}; write it anew with `nsys export --type sqlite`", path_, doing,
                        sqlite3_errmsg(db_.get()))};
  }
  bool has_table(std::string_view table) const { return tables_.contains(std::string(table)); }
  // Calls `row` for each row of the table, with these columns in this order; nothing is done if the
  // table is missing. A column that is missing is NULL, if it is none of the first `needed`.
  template <class Call>
  Status each(const char* table, const std::vector<std::string_view>& columns, std::size_t needed,
              Call row);
  Status read_texts();
  Status read_processes();
  Status read_devices();
  Status read_ranges();
  Status read_calls(const char* table, const char* category);
  Status read_device_work();

  std::string_view string_of(std::int64_t id) const {
    const auto found = texts_.find(id);
    return found != texts_.end() ? std::string_view(found->second) : std::string_view();
  }
  // Of a row whose first two columns are start and end; false if they cannot be.
  bool times(const Row& row, const char* table, std::int64_t& begin, std::int64_t& length);
  void thread_of(std::int64_t global) {
    constexpr std::int64_t kThreads = 0x1000000;
    pid_ = std::to_string(global / kThreads % kThreads);
    tid_ = std::to_string(global % kThreads);
  }
  bool full() const { return rows_ >= options_.max_events; }

  std::string path_;
  const ImportOptions& options_;
  ForeignRead& told_;
  ChromeHandler& handler_;
  Emitter out_;
  std::unique_ptr<sqlite3, CloseDatabase> db_;
  std::unordered_map<std::string, std::vector<std::string>> tables_;  // and their columns
  std::unordered_map<std::int64_t, std::string> texts_;
  std::uint64_t rows_ = 0;
  std::string pid_, tid_;
};

// As part of an address of SQLite's.
std::string file_address(const std::string& path) {
  std::string out = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_') {
      out += c;
    } else {
      out += fmt::format("%{:02x}", byte);
    }
  }
  return out + "?mode=ro&immutable=1";
}

Status NsysFile::open() {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file_address(path_).c_str(), &raw,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  db_.reset(raw);
  if (code != SQLITE_OK) return sqlite_error("cannot be opened");
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  constexpr int kMostBytes = 16 << 20;  // of one value
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kMostBytes);
  const auto prepare = [&](const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(raw, sql.c_str(), -1, &statement, nullptr);
    return StatementPtr(statement);
  };
  const StatementPtr list =
      prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'");
  if (list == nullptr) return sqlite_error("is no database that can be read");
  int done = SQLITE_ROW;
  constexpr std::size_t kMostTables = 1000;
  while (tables_.size() < kMostTables && (done = sqlite3_step(list.get())) == SQLITE_ROW) {
    tables_.try_emplace(std::string(Row(list.get()).text(0)));
  }
  if (done != SQLITE_ROW && done != SQLITE_DONE) return sqlite_error("cannot be read");
  const StatementPtr info = prepare("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0");
  if (info == nullptr) return sqlite_error("cannot be read");
  for (auto& [table, columns] : tables_) {
    sqlite3_bind_text(info.get(), 1, table.data(), static_cast<int>(table.size()), SQLITE_STATIC);
    while (sqlite3_step(info.get()) == SQLITE_ROW) columns.emplace_back(Row(info.get()).text(0));
    sqlite3_reset(info.get());
  }
  return Done{};
}

template <class Call>
Status NsysFile::each(const char* table, const std::vector<std::string_view>& columns,
                      std::size_t needed, Call row) {
  const auto found = tables_.find(table);
  if (found == tables_.end()) return Done{};
  std::string sql;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool there =
        std::find(found->second.begin(), found->second.end(), columns[i]) != found->second.end();
    if (!there && i < needed) {
      return Error{ErrorCode::bad_data,
                   fmt::format("{}: table {} has no column {}: it is no export that this version "
                               "knows; export it anew with a newer nsys",
                               path_, table, columns[i])};
    }
    sql += (i > 0 ? ", " : "SELECT ") + (there ? fmt::format("\"{}\"", columns[i]) : "NULL");
  }
  sql += fmt::format(" FROM \"{}\"", table);
  sqlite3_stmt* raw = nullptr;
  sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &raw, nullptr);
  const StatementPtr statement(raw);
  if (statement == nullptr) return sqlite_error(fmt::format("(table {}) cannot be read", table));
  int done = SQLITE_DONE;
  while (!full() && (done = sqlite3_step(raw)) == SQLITE_ROW) {
    rows_++;
    row(Row(raw));
    constexpr std::uint64_t kAsk = 4096;
    if (rows_ % kAsk == 0 && !handler_.progress()) break;
  }
  if (done != SQLITE_DONE && done != SQLITE_ROW) {
    // What was read before is kept.
    told_.complain(fmt::format("table {}: {}", table, sqlite3_errmsg(db_.get())));
  }
  return Done{};
}

bool NsysFile::times(const Row& row, const char* table, std::int64_t& begin, std::int64_t& length) {
  begin = row.integer(0);
  const std::int64_t end = row.has(1) ? row.integer(1) : begin;
  if (!row.is_integer(0) || end < begin || __builtin_sub_overflow(end, begin, &length)) {
    told_.complain(fmt::format("a row of {} without a start, or with an end before it", table));
    return false;
  }
  return true;
}

Status NsysFile::read_texts() {
  return each("StringIds", {"id", "value"}, 2, [&](const Row& row) {
    constexpr std::size_t kLongest = 4096;
    if (texts_.size() < kMostTexts) {
      texts_.try_emplace(row.integer(0), row.text(1).substr(0, kLongest));
    }
  });
}

Status NsysFile::read_processes() {
  if (const Status done = each(
          "PROCESSES", {"globalPid", "name"}, 2,
          [&](const Row& row) {
            thread_of(row.integer(0));
            out_.start('M', "process_name", "", 0).of(pid_, "0").text("name", row.text(1)).send();
          });
      !done) {
    return done;
  }
  return each("ThreadNames", {"globalTid", "nameId"}, 2, [&](const Row& row) {
    thread_of(row.integer(0));
    out_.start('M', "thread_name", "", 0)
        .of(pid_, tid_)
        .text("name", string_of(row.integer(1)))
        .send();
  });
}

Status NsysFile::read_devices() {
  if (const Status done = each("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, 1,
                               [&](const Row& row) {
                                 handler_.field("baseTimeNanoseconds",
                                                std::to_string(row.integer(0)));
                               });
      !done) {
    return done;
  }
  std::string devices;
  const Status done = each(
      "TARGET_INFO_GPU",
      {"id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor", "threadsPerWarp"}, 2,
      [&](const Row& row) {
        std::string name(row.text(1).substr(0, 128));
        std::replace_if(
            name.begin(), name.end(),
            [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; },
            ' ');
        devices += fmt::format("{}{{\"id\":{},\"name\":\"{}\"", devices.empty() ? "[" : ",",
                               row.integer(0), name);
        constexpr const char* kKeys[] = {"totalGlobalMem", "numSms", "computeMajor", "computeMinor",
                                         "warpSize"};
        for (int i = 0; i < 5; ++i) {
          if (row.is_integer(i + 2)) {
            devices += fmt::format(",\"{}\":{}", kKeys[i], row.integer(i + 2));
          }
        }
        devices += "}";
      });
  if (!devices.empty()) handler_.field("deviceProperties", devices + "]");
  return done;
}

// "step 3", "Iteration_12": the word and the number. Empty: it is no step.
std::string_view step_word(std::string_view name, std::string_view& number) {
  std::size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])) != 0) --digits;
  number = name.substr(digits);
  std::size_t end = digits;
  while (end > 0 && std::string_view(" _#:=").find(name[end - 1]) != std::string_view::npos) --end;
  const std::string_view word = name.substr(0, end);
  constexpr std::size_t kMostDigits = 9;
  if (number.empty() || number.size() > kMostDigits) return {};
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* const step : {"step", "iteration", "iter", "batch", "profilerstep"}) {
    if (lower == step) return word;
  }
  return {};
}

Status NsysFile::read_ranges() {
  constexpr std::int64_t kMark = 34, kPushPop = 59, kStartEnd = 60;
  return each("NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid"}, 1,
              [&](const Row& row) {
                const std::int64_t type = row.integer(2);
                if (type != kMark && type != kPushPop && type != kStartEnd)
                  return;  // names of domains
                std::int64_t begin = 0, length = 0;
                if (!times(row, "NVTX_EVENTS", begin, length)) return;
                std::string_view name = row.text(3);
                if (name.empty()) name = string_of(row.integer(4));
                if (name.empty()) name = "(range without a name)";
                thread_of(row.integer(5));
                if (type == kMark) {
                  out_.start('i', name, "", begin).of(pid_, tid_).send();
                  return;
                }
                // torch.autograd.profiler.emit_nvtx marks each operator, with what it knows of it.
                const std::size_t extra = name.find(", seq = ") != name.npos
                                              ? name.find(", seq = ")
                                              : name.find(", op_id = ");
                const bool is_operator = extra != name.npos;
                std::string_view number;
                const std::string_view word = is_operator ? "" : step_word(name, number);
                const std::string_view plain = is_operator     ? name.substr(0, extra)
                                               : !word.empty() ? word
                                                               : name;
                const char* const category = is_operator ? "cpu_op" : "user_annotation";
                if (type == kStartEnd) {  // may end on another thread, and overlap
                  const std::string id = std::to_string(rows_);
                  out_.start('b', plain, "nvtx", begin).of(pid_, tid_).id(id).send();
                  out_.start('e', plain, "nvtx", begin + length).of(pid_, tid_).id(id).send();
                  return;
                }
                out_.start('X', plain, category, begin).of(pid_, tid_).lasting(length);
                if (!word.empty()) out_.text("step_num", number);
                if (!row.has(1)) out_.text("unfinished", "the range was open at the end");
                out_.send();
              });
}

Status NsysFile::read_calls(const char* table, const char* category) {
  return each(
      table, {"start", "end", "globalTid", "nameId", "correlationId"}, 3, [&](const Row& row) {
        std::int64_t begin = 0, length = 0;
        if (!times(row, table, begin, length)) return;
        thread_of(row.integer(2));
        std::string_view name = string_of(row.integer(3));
        if (name.empty()) name = "(call without a name)";
        // cudaLaunchKernel_v7000: the version is CUPTI's.
        const std::size_t version = name.rfind("_v");
        if (version != name.npos && version > 0 && name.size() - version > 2 &&
            std::all_of(name.begin() + static_cast<std::ptrdiff_t>(version) + 2, name.end(),
                        [](unsigned char c) { return std::isdigit(c) != 0; })) {
          name = name.substr(0, version);
        }
        out_.start('X', name, category, begin).of(pid_, tid_).lasting(length);
        if (row.integer(4) > 0) {
          // Of one process: joined with it, so that two of them are not mixed up.
          out_.number("correlation", static_cast<std::uint64_t>(row.integer(2) / 0x1000000) << 32 |
                                         static_cast<std::uint32_t>(row.integer(4)));
        }
        out_.send();
      });
}

// CUpti_ActivityMemcpyKind, in the words of Kineto.
std::string_view copy_name(std::int64_t kind) {
  switch (kind) {
    case 1:
      return "Memcpy HtoD";
    case 2:
      return "Memcpy DtoH";
    case 8:
      return "Memcpy DtoD";
    case 9:
      return "Memcpy HtoH";
    case 10:
      return "Memcpy PtoP";
    default:
      return "Memcpy";
  }
}

Status NsysFile::read_device_work() {
  const auto start = [&](const Row& row, const char* table, std::string_view name,
                         const char* category) {
    std::int64_t begin = 0, length = 0;
    if (!times(row, table, begin, length)) return false;
    thread_of(row.integer(5));
    out_.start('X', name, category, begin)
        .of(pid_, "0")
        .lasting(length)
        .number("device", row.integer(2))
        .number("stream", row.integer(3));
    if (row.integer(4) > 0) {
      out_.number("correlation", static_cast<std::uint64_t>(row.integer(5) / 0x1000000) << 32 |
                                     static_cast<std::uint32_t>(row.integer(4)));
    }
    return true;
  };
  const std::vector<std::string_view> common = {"start",    "end",           "deviceId",
                                                "streamId", "correlationId", "globalPid"};
  const auto with = [&](std::initializer_list<std::string_view> more) {
    std::vector<std::string_view> all = common;
    all.insert(all.end(), more);
    return all;
  };
  Status done =
      each("CUPTI_ACTIVITY_KIND_KERNEL",
           with({"demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY",
                 "blockZ", "registersPerThread"}),
           5, [&](const Row& row) {
             std::string_view name = string_of(row.integer(6));
             if (name.empty()) name = string_of(row.integer(7));
             if (name.empty()) name = "(kernel without a name)";
             if (!start(row, "CUPTI_ACTIVITY_KIND_KERNEL", name, "kernel")) return;
             const std::string grid =
                 fmt::format("[{}, {}, {}]", row.integer(8), row.integer(9), row.integer(10));
             const std::string block =
                 fmt::format("[{}, {}, {}]", row.integer(11), row.integer(12), row.integer(13));
             if (row.has(8)) out_.text("grid", grid).text("block", block);
             if (row.has(14)) out_.number("registers per thread", row.integer(14));
             out_.send();
           });
  if (!done) return done;
  done = each("CUPTI_ACTIVITY_KIND_MEMCPY", with({"copyKind", "bytes"}), 5, [&](const Row& row) {
    if (!start(row, "CUPTI_ACTIVITY_KIND_MEMCPY", copy_name(row.integer(6)), "gpu_memcpy")) return;
    if (row.has(7)) out_.number("bytes", row.integer(7));
    out_.send();
  });
  if (!done) return done;
  done = each("CUPTI_ACTIVITY_KIND_MEMSET", with({"bytes"}), 5, [&](const Row& row) {
    if (!start(row, "CUPTI_ACTIVITY_KIND_MEMSET", "Memset", "gpu_memset")) return;
    if (row.has(6)) out_.number("bytes", row.integer(6));
    out_.send();
  });
  if (!done) return done;
  return each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", common, 4, [&](const Row& row) {
    if (start(row, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "Synchronization", "cuda_sync")) {
      out_.send();
    }
  });
}

Status NsysFile::read() {
  if (const Status opened = open(); !opened) return opened;
  constexpr const char* kSources[] = {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL",
                                      "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                      "OSRT_API"};
  if (std::none_of(std::begin(kSources), std::end(kSources),
                   [&](const char* table) { return has_table(table); })) {
    return Error{ErrorCode::bad_data,
                 path_ +
                     ": this SQLite file has none of the tables of an export of nsys "
                     "(NVTX_EVENTS, CUPTI_ACTIVITY_KIND_KERNEL, ...); trace with `nsys profile "
                     "--trace cuda,nvtx,osrt` and write it with `nsys export --type sqlite`"};
  }
  if (Status done = read_texts(); !done) return done;
  if (Status done = read_processes(); !done) return done;
  if (Status done = read_devices(); !done) return done;
  if (Status done = read_ranges(); !done) return done;
  if (Status done = read_calls("CUPTI_ACTIVITY_KIND_RUNTIME", "cuda_runtime"); !done) return done;
  if (Status done = read_device_work(); !done) return done;
  if (Status done = read_calls("OSRT_API", "osrt_api"); !done) return done;
  told_.stopped = full();
  return Done{};
}

}  // namespace

Result<ForeignRead> read_nsys(const std::string& path, const ImportOptions& options,
                              ChromeHandler& handler) {
  ForeignRead told;
  if (const Status done = NsysFile(path, options, told, handler).read(); !done) {
    return done.error();
  }
  return told;
}

}  // namespace genscope::store
