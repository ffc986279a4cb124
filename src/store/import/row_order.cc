#include "store/import/row_order.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>
#include <unordered_map>

namespace genscope::store {
namespace {

// A positive number of 32 bits, or 0.
std::uint32_t number_of(const std::string& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

std::uint32_t find_main(const RawTrace& raw) {
  std::unordered_map<std::uint32_t, std::uint64_t> spans;
  std::uint32_t main = kNone;
  for (const RawSpan& span : raw.spans) {
    const RawRow& row = raw.rows[span.row];
    if (row.row_class == RowClass::thread) spans[row.pid]++;
  }
  for (const RawRow& row : raw.rows) {  // of equals the first in the file
    if (row.row_class != RowClass::thread) continue;
    if (main == kNone || spans[row.pid] > spans[main]) main = row.pid;
  }
  return main;
}

}  // namespace

RowOrder order_rows(const RawTrace& raw) {
  const std::uint32_t main = find_main(raw);
  std::unordered_map<std::uint32_t, const RawProcess*> processes;
  for (const auto& [pid, process] : raw.processes) processes[pid] = &process;
  const auto sort_index_of = [&](std::uint32_t pid) {
    const auto at = processes.find(pid);
    return at == processes.end() ? 0 : at->second->sort_index.value_or(0);
  };
  RowOrder out;
  for (std::uint32_t i = 0; i < raw.rows.size(); ++i) {
    const RawRow& row = raw.rows[i];
    OrderedRow& ordered = out.rows.emplace_back();
    ordered.row = i;
    ordered.name = row.name;
    if (row.row_class != RowClass::thread) continue;
    const std::string& tid = raw.ids.text(row.tid);
    ordered.tid = number_of(tid);
    ordered.name = !row.thread_name.empty() ? row.thread_name
                   : ordered.tid == 0       ? "thread " + tid
                                            : "";
    if (row.pid == main) continue;
    const auto process = processes.find(row.pid);
    const bool named = process != processes.end() && !process->second->name.empty();
    const std::string& pid = raw.ids.text(row.pid);
    ordered.name = (named ? process->second->name + " " + pid : "process " + pid) + ": " +
                   (ordered.name.empty() ? "thread " + tid : ordered.name);
  }
  const auto key = [&](const OrderedRow& o) {
    const RawRow& row = raw.rows[o.row];
    const bool thread = row.row_class == RowClass::thread;
    return std::tuple(row.row_class, thread && row.pid != main, thread ? sort_index_of(row.pid) : 0,
                      thread ? row.pid : 0, row.sort_index.value_or(0), o.row);
  };
  std::sort(out.rows.begin(), out.rows.end(),
            [&](const OrderedRow& a, const OrderedRow& b) { return key(a) < key(b); });
  if (main != kNone) out.main_pid = number_of(raw.ids.text(main));
  return out;
}

}  // namespace genscope::store
