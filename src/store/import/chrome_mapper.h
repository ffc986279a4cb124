// Events of a Chrome trace become the records of a RawTrace. docs/import.md is the table of what
// becomes what.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "genscope/store.h"
#include "store/import/category.h"
#include "store/import/chrome_reader.h"
#include "store/import/raw_trace.h"

namespace genscope::store {

class ChromeMapper final : public ChromeHandler {
 public:
  struct Counts {
    std::uint64_t events = 0;          // that became something
    std::uint64_t flows = 0;           // s, t, f
    std::uint64_t other = 0;           // object snapshots, samples, memory dumps, unknown phases
    std::uint64_t unmatched_ends = 0;  // E, e or F without a begin
    std::uint64_t unfinished = 0;
  };
  // Of the fields beside the events.
  struct Facts {
    std::optional<std::int64_t> base_ns;  // baseTimeNanoseconds
    std::optional<int> rank, world_size;
    std::string trace_id;
    std::vector<std::string> devices;  // JSON objects of deviceProperties
  };

  explicit ChromeMapper(const ImportOptions& options) : max_events_(options.max_events) {}
  void on_progress(std::function<bool()> call) { on_progress_ = std::move(call); }

  const char* event(const ChromeEvent& event) override;
  bool wants(std::string_view key) const override;
  void field(std::string_view key, std::string_view json) override;
  bool progress() override;

  // Closes what is open and adds the devices. Afterwards the records can be taken.
  void finish();
  RawTrace take() { return std::move(raw_); }
  const Counts& counts() const { return counts_; }
  const Facts& facts() const { return facts_; }
  bool full() const { return counts_.events >= max_events_; }

 private:
  // The numbers in the arguments that the mapping itself uses.
  struct Found {
    std::optional<std::uint64_t> correlation, external_id;
    std::string_view device, stream;
  };

  const char* complete(const ChromeEvent& e);
  const char* begin(const ChromeEvent& e);
  const char* end(const ChromeEvent& e);
  const char* async(const ChromeEvent& e);
  const char* instant(const ChromeEvent& e);
  const char* counter(const ChromeEvent& e);
  const char* metadata(const ChromeEvent& e);
  // An allocator's state, if the event is one of those.
  bool memory(const ChromeEvent& e);

  Category category(std::string_view text, std::uint32_t& text_number);
  std::uint32_t name(std::string_view text, SpanKind kind);
  std::uint32_t thread_row(std::string_view pid, std::string_view tid);
  std::uint32_t named_row(RowClass row_class, const std::string& name);
  std::uint32_t counters_row();
  std::uint32_t device_row(const ChromeEvent& e, Category category, const Found& found);
  Found find(const ChromeEvent& e) const;
  std::uint32_t add_span(std::uint32_t row, std::uint32_t name, std::int64_t at_ns,
                         std::int64_t duration_ns);
  std::uint32_t add_event(std::uint32_t row, std::uint32_t name, std::int64_t at_ns);
  void add_counter(std::int64_t at_ns, std::string_view name, double value);
  void add_args(const ChromeEvent& e, std::uint32_t owner, ArgColumns& to);
  void add_text(std::uint32_t owner, std::string_view key, std::string_view text, ArgColumns& to);
  void link(std::uint32_t span, Category category, const Found& found);
  RawProcess& process(std::string_view pid);

  std::uint64_t max_events_;
  std::function<bool()> on_progress_;
  RawTrace raw_;
  Counts counts_;
  Facts facts_;

  struct Names {
    Interner texts;
    std::vector<std::uint32_t> index;  // into RawTrace::names
  };
  std::array<Names, 16> names_;  // by kind
  std::vector<bool> dropped_;    // by name: arguments under it are not kept
  Interner categories_;
  std::vector<std::pair<Category, std::uint32_t>> category_of_;  // and its number as a text
  std::unordered_map<std::uint64_t, std::uint32_t> threads_;     // pid << 32 | tid to row
  std::unordered_map<std::string, std::uint32_t> named_rows_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> open_;      // of B, by row
  std::unordered_map<std::string, std::vector<std::uint32_t>> open_async_;  // by category and id
  std::unordered_map<std::uint32_t, std::size_t> process_index_;
  std::string key_;  // scratch
  // The rows and names of the last events: most have the same again.
  struct LastThread {
    std::uint32_t pid = kNone, tid = kNone, row = 0;
  } last_thread_;
  std::string last_named_;
  std::uint32_t last_named_row_ = kNone, counters_row_ = kNone;
  std::uint32_t cat_ = kNone;  // the name "cat"
};

}  // namespace genscope::store
