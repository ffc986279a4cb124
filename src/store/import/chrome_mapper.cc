// One event at a time, in the order of the file, which need not be that of time: begins wait on a
// stack per thread, or per id for async ones, for their end. Rows and names are numbers from the
// first time they are met. Links between calls and their work on the device are kept as pairs of a
// key and a span, and joined (device_time.h) when all events are in (arrange.cc), so memory is that
// of the spans.
#include "store/import/chrome_mapper.h"

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "store/import/json_cursor.h"
#include "store/import/names.h"

namespace genscope::store {
namespace {

template <class T>
bool whole_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

bool is_number(const ChromeEvent::Arg& arg, double& value) {
  if (arg.type != JsonType::number && arg.type != JsonType::string) return false;
  return whole_number(arg.text, value);
}

// JAX's StepTraceAnnotation says the number of a step in an argument, as a text.
bool numbered_step(const ChromeEvent& e, std::uint64_t& number) {
  for (const ChromeEvent::Arg& arg : e.args) {
    if (arg.key == "step_num" && arg.type != JsonType::boolean) {
      return whole_number(arg.text, number);
    }
  }
  return false;
}

}  // namespace

const char* ChromeMapper::event(const ChromeEvent& e) {
  if (full()) return nullptr;
  if (e.has_fraction) raw_.whole_microseconds = false;
  if (e.phase != 'M' && e.phase != 0 && !e.has_time) return "an event without a time (ts)";
  switch (e.phase) {
    case 'X':
      return complete(e);
    case 'B':
      return begin(e);
    case 'E':
      return end(e);
    case 'b':
    case 'e':
    case 'n':
    case 'S':
    case 'T':
    case 'p':
    case 'F':
      return async(e);
    case 'i':
    case 'I':
    case 'R':
      return instant(e);
    case 'C':
      return counter(e);
    case 'M':
      return metadata(e);
    case 's':
    case 't':
    case 'f':
      counts_.flows++;
      return nullptr;
    case 0:  // XLA writes an empty object at the end
      if (e.name.empty() && !e.has_time && e.args.empty()) return nullptr;
      return "an event without a phase (ph)";
    default:
      counts_.other++;
      return nullptr;
  }
}

// --- spans

const char* ChromeMapper::complete(const ChromeEvent& e) {
  if (!e.has_duration || e.duration_ns < 0) return "an X event without a duration (dur)";
  std::uint32_t category_text = 0;
  const Category c = category(e.category, category_text);
  const Found found = c == Category::plain ? Found{} : find(e);
  std::uint32_t row = 0;
  if (on_device(c)) {
    row = device_row(e, c, found);
  } else if (c == Category::overhead || c == Category::window) {
    row = named_row(RowClass::profiler, c == Category::window ? "profiler" : "profiler overhead");
  } else {
    row = thread_row(e.pid, e.tid);
  }
  std::uint64_t step = 0;
  const bool of_profiler = c == Category::annotation && profiler_step(e.name, step);
  const bool is_step = of_profiler || (!on_device(c) && numbered_step(e, step));
  const std::uint32_t n =
      name(of_profiler ? "ProfilerStep" : e.name, is_step ? SpanKind::step : kind_of(c, e.name));
  const std::uint32_t span = add_span(row, n, e.at_ns, e.duration_ns);
  if (!e.category.empty()) {
    ArgColumns& args = raw_.span_args;
    args.owner.push_back(span);
    if (cat_ == kNone) cat_ = name("cat", SpanKind::none);
    args.key.push_back(cat_);
    args.type.push_back(ArgType::text);
    args.bits.push_back(category_text);
  }
  if (is_step) {
    raw_.span_args.owner.push_back(span);
    raw_.span_args.key.push_back(name("index", SpanKind::none));
    raw_.span_args.type.push_back(ArgType::int64);
    raw_.span_args.bits.push_back(step);
  }
  add_args(e, span, raw_.span_args);
  link(span, c, found);
  return nullptr;
}

void ChromeMapper::link(std::uint32_t span, Category c, const Found& found) {
  if (c == Category::call && found.correlation) {
    raw_.launches.push_back({*found.correlation, span});
  } else if (c == Category::cpu_op && found.external_id) {
    raw_.operators.push_back({*found.external_id, span});
  } else if (c == Category::device_work) {
    raw_.device_spans++;
    if (found.correlation) raw_.device_work.push_back({*found.correlation, span});
    if (found.external_id) raw_.device_work_by_op.push_back({*found.external_id, span});
  }
}

const char* ChromeMapper::begin(const ChromeEvent& e) {
  std::uint32_t category_text = 0;
  const Category c = category(e.category, category_text);
  const std::uint32_t row = thread_row(e.pid, e.tid);
  const std::uint32_t span = add_span(row, name(e.name, kind_of(c, e.name)), e.at_ns, 0);
  raw_.spans[span].flags = kSpanUnfinished;
  if (!e.category.empty()) add_text(span, "cat", e.category, raw_.span_args);
  add_args(e, span, raw_.span_args);
  open_[row].push_back(span);
  return nullptr;
}

const char* ChromeMapper::end(const ChromeEvent& e) {
  const auto open = open_.find(thread_row(e.pid, e.tid));
  if (open == open_.end() || open->second.empty()) {
    counts_.unmatched_ends++;
    return nullptr;
  }
  RawSpan& span = raw_.spans[open->second.back()];
  if (e.at_ns < span.begin_ns) return "an E event before its B";
  span.duration_ns = e.at_ns - span.begin_ns;
  span.flags = 0;
  add_args(e, open->second.back(), raw_.span_args);
  open->second.pop_back();
  counts_.events++;
  return nullptr;
}

const char* ChromeMapper::async(const ChromeEvent& e) {
  if (e.id.empty()) return "an async event without an id";
  key_.assign(e.category).append(1, '\0').append(e.id);
  if (e.id_is_local) key_.append(1, '\0').append(e.pid);
  std::vector<std::uint32_t>& open = open_async_[key_];
  const bool closes = e.phase == 'e' || e.phase == 'F';
  if (closes && open.empty()) {
    counts_.unmatched_ends++;
    return nullptr;
  }
  if (closes) {
    RawSpan& span = raw_.spans[open.back()];
    if (e.at_ns < span.begin_ns) return "the end of an async event before its begin";
    span.duration_ns = e.at_ns - span.begin_ns;
    span.flags = 0;
    add_args(e, open.back(), raw_.span_args);
    open.pop_back();
    counts_.events++;
    return nullptr;
  }
  const std::string row_name = "async:" + std::string(e.category);
  const std::uint32_t row = named_row(RowClass::async, row_name);
  if (e.phase == 'b' || e.phase == 'S') {
    const std::uint32_t span = add_span(row, name(e.name, SpanKind::task), e.at_ns, 0);
    raw_.spans[span].flags = kSpanUnfinished;
    if (!open.empty()) raw_.spans[span].parent = open.back();
    if (!e.category.empty()) add_text(span, "cat", e.category, raw_.span_args);
    add_text(span, "id", e.id, raw_.span_args);
    add_args(e, span, raw_.span_args);
    open.push_back(span);
    return nullptr;
  }
  const std::uint32_t event = add_event(row, name(e.name, SpanKind::none), e.at_ns);
  if (!open.empty()) raw_.events[event].span = open.back();
  add_args(e, event, raw_.event_args);
  return nullptr;
}

// --- instants and counters

const char* ChromeMapper::instant(const ChromeEvent& e) {
  if (memory(e)) return nullptr;
  const std::uint32_t event =
      add_event(thread_row(e.pid, e.tid), name(e.name, SpanKind::none), e.at_ns);
  if (!e.category.empty()) add_text(event, "cat", e.category, raw_.event_args);
  add_args(e, event, raw_.event_args);
  return nullptr;
}

bool ChromeMapper::memory(const ChromeEvent& e) {
  if (e.name != "[memory]") return false;
  double bytes = 0, allocated = -1, reserved = -1, type = 0, id = -1;
  bool any = false;
  for (const ChromeEvent::Arg& arg : e.args) {
    if (arg.key == "Bytes") any |= is_number(arg, bytes);
    if (arg.key == "Total Allocated") any |= is_number(arg, allocated);
    if (arg.key == "Total Reserved") any |= is_number(arg, reserved);
    if (arg.key == "Device Type") is_number(arg, type);
    if (arg.key == "Device Id") is_number(arg, id);
  }
  if (!any) return false;
  const std::string device = allocator_of(type, id);
  add_counter(e.at_ns, device + "/change_bytes", bytes);
  if (allocated >= 0) add_counter(e.at_ns, device + "/allocator_allocated_bytes", allocated);
  // The CPU's allocator has no cache, and is written as if it held 0 bytes.
  if (reserved > 0 || (reserved == 0 && type != 0)) {
    add_counter(e.at_ns, device + "/allocator_reserved_bytes", reserved);
  }
  counts_.events++;
  return true;
}

const char* ChromeMapper::counter(const ChromeEvent& e) {
  std::string stem(e.name);
  if (!e.id.empty()) stem.append("[").append(e.id).append("]");
  std::size_t numbers = 0;
  double value = 0;
  for (const ChromeEvent::Arg& arg : e.args) numbers += is_number(arg, value) ? 1 : 0;
  if (numbers == 0) return "a C event without a number in its args";
  for (const ChromeEvent::Arg& arg : e.args) {
    if (!is_number(arg, value)) continue;
    // One series named as a mere value needs no name beside the counter's.
    const bool alone = numbers == 1 && (arg.key == "value" || arg.key == e.name);
    add_counter(e.at_ns, alone ? stem : stem + "/" + std::string(arg.key), value);
  }
  counts_.events++;
  return nullptr;
}

// --- metadata

RawProcess& ChromeMapper::process(std::string_view pid) {
  const std::uint32_t number = raw_.ids.of(pid);
  const auto [at, fresh] = process_index_.try_emplace(number, raw_.processes.size());
  if (fresh) raw_.processes.emplace_back(number, RawProcess{});
  return raw_.processes[at->second].second;
}

const char* ChromeMapper::metadata(const ChromeEvent& e) {
  for (const ChromeEvent::Arg& arg : e.args) {
    std::int64_t index = 0;
    const bool is_text = arg.type == JsonType::string;
    if (e.name == "process_name" && arg.key == "name" && is_text) {
      process(e.pid).name = base::cut_utf8(arg.text, kMaxNameBytes);
    } else if (e.name == "thread_name" && arg.key == "name" && is_text) {
      RawRow& row = raw_.rows[thread_row(e.pid, e.tid)];
      row.thread_name = base::cut_utf8(arg.text, kMaxNameBytes);
    } else if (e.name == "process_sort_index" && whole_number(arg.text, index)) {
      process(e.pid).sort_index = index;
    } else if (e.name == "thread_sort_index" && whole_number(arg.text, index)) {
      raw_.rows[thread_row(e.pid, e.tid)].sort_index = index;
    }
  }
  return nullptr;
}

}  // namespace genscope::store
