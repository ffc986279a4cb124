// ChromeMapper, the lower half: rows, names, arguments, and the fields beside the events.
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/text.h"
#include "store/import/chrome_mapper.h"
#include "store/import/names.h"
#include "store/lane_encoder.h"

namespace genscope::store {
namespace {

constexpr std::size_t kMaxArguments = 48;  // of one event; a span of two must fit a chunk
constexpr std::size_t kMaxDevices = 64;

// A JSON number to an argument; false if it is none.
bool encode_number(std::string_view text, ArgType& type, std::uint64_t& bits) {
  const char* const end = text.data() + text.size();
  std::int64_t integer = 0;
  auto result = std::from_chars(text.data(), end, integer);
  if (result.ec == std::errc() && result.ptr == end) {
    type = ArgType::int64;
    bits = static_cast<std::uint64_t>(integer);
    return true;
  }
  result = std::from_chars(text.data(), end, bits);
  if (result.ec == std::errc() && result.ptr == end) {
    type = ArgType::uint64;
    return true;
  }
  double real = 0;
  result = std::from_chars(text.data(), end, real);
  if (result.ptr != end) return false;
  if (result.ec == std::errc::result_out_of_range) {
    real = text.starts_with('-') ? -HUGE_VAL : HUGE_VAL;
  } else if (result.ec != std::errc()) {
    return false;
  }
  type = ArgType::float64;
  bits = __builtin_bit_cast(std::uint64_t, real);
  return true;
}

bool natural(const ChromeEvent::Arg& arg, std::optional<std::uint64_t>& out) {
  std::uint64_t value = 0;
  const char* const end = arg.text.data() + arg.text.size();
  const auto [stop, error] = std::from_chars(arg.text.data(), end, value);
  if (error != std::errc() || stop != end || value == 0) return false;
  out = value;
  return true;
}

}  // namespace

Category ChromeMapper::category(std::string_view text, std::uint32_t& text_number) {
  const std::uint32_t number = categories_.of(text);
  if (number == category_of_.size()) {
    category_of_.emplace_back(category_of(text),
                              raw_.texts.of(base::cut_utf8(text, kMaxTextBytes)));
  }
  text_number = category_of_[number].second;
  return category_of_[number].first;
}

std::uint32_t ChromeMapper::name(std::string_view text, SpanKind kind) {
  Names& names = names_[static_cast<std::size_t>(kind)];
  const std::uint32_t number = names.texts.of(text);
  if (number == names.index.size()) {
    names.index.push_back(static_cast<std::uint32_t>(raw_.names.size()));
    raw_.names.push_back({short_name(text), kind});
    dropped_.push_back(kind == SpanKind::none && is_dropped_argument(text));
  }
  return names.index[number];
}

std::uint32_t ChromeMapper::thread_row(std::string_view pid, std::string_view tid) {
  const std::uint32_t p = raw_.ids.of(pid);
  const std::uint32_t t = raw_.ids.of(tid);
  if (p == last_thread_.pid && t == last_thread_.tid) return last_thread_.row;
  const auto next = static_cast<std::uint32_t>(raw_.rows.size());
  const auto [at, fresh] = threads_.try_emplace(std::uint64_t{p} << 32 | t, next);
  if (fresh) {
    RawRow row;
    row.pid = p;
    row.tid = t;
    raw_.rows.push_back(std::move(row));
  }
  last_thread_ = {p, t, at->second};
  return at->second;
}

std::uint32_t ChromeMapper::named_row(RowClass row_class, const std::string& text) {
  if (last_named_row_ != kNone && text == last_named_) return last_named_row_;
  const auto next = static_cast<std::uint32_t>(raw_.rows.size());
  const auto [at, fresh] = named_rows_.try_emplace(text, next);
  if (fresh) {
    RawRow row;
    row.row_class = row_class;
    row.name = short_name(text);
    raw_.rows.push_back(std::move(row));
  }
  last_named_ = text;
  last_named_row_ = at->second;
  return at->second;
}

std::uint32_t ChromeMapper::counters_row() {
  if (counters_row_ == kNone) counters_row_ = named_row(RowClass::counters, "counters");
  return counters_row_;
}

std::uint32_t ChromeMapper::device_row(const ChromeEvent& e, Category category,
                                       const Found& found) {
  const bool annotation = category == Category::device_annotation;
  key_.assign("gpu:").append(found.device.empty() ? e.pid : found.device);
  key_.append("/stream:").append(found.stream.empty() ? e.tid : found.stream);
  if (annotation) key_.append("/annotations");
  return named_row(annotation ? RowClass::stream_annotation : RowClass::stream, key_);
}

ChromeMapper::Found ChromeMapper::find(const ChromeEvent& e) const {
  Found found;
  for (const ChromeEvent::Arg& arg : e.args) {
    switch (arg.key.size()) {
      case 6:
        if (arg.type != JsonType::number) break;
        if (arg.key == "device") found.device = arg.text;
        if (arg.key == "stream") found.stream = arg.text;
        break;
      case 11:
        if (arg.key == "correlation") natural(arg, found.correlation);
        if (arg.key == "External id" || arg.key == "external id") natural(arg, found.external_id);
        break;
      default:
        break;
    }
  }
  return found;
}

std::uint32_t ChromeMapper::add_span(std::uint32_t row, std::uint32_t name, std::int64_t at_ns,
                                     std::int64_t duration_ns) {
  RawSpan span;
  span.begin_ns = at_ns;
  span.duration_ns = duration_ns;
  span.row = row;
  span.name = name;
  raw_.spans.push_back(span);
  counts_.events++;
  return static_cast<std::uint32_t>(raw_.spans.size() - 1);
}

std::uint32_t ChromeMapper::add_event(std::uint32_t row, std::uint32_t name, std::int64_t at_ns) {
  raw_.events.push_back({at_ns, row, name, kNone});
  counts_.events++;
  return static_cast<std::uint32_t>(raw_.events.size() - 1);
}

void ChromeMapper::add_counter(std::int64_t at_ns, std::string_view text, double value) {
  const std::uint32_t row = counters_row();
  raw_.counters.push_back({at_ns, row, name(text, SpanKind::none), value});
}

void ChromeMapper::add_text(std::uint32_t owner, std::string_view key, std::string_view text,
                            ArgColumns& to) {
  to.owner.push_back(owner);
  to.key.push_back(name(key, SpanKind::none));
  to.type.push_back(ArgType::text);
  to.bits.push_back(raw_.texts.of(base::cut_utf8(text, kMaxTextBytes)));
}

void ChromeMapper::add_args(const ChromeEvent& e, std::uint32_t owner, ArgColumns& to) {
  std::size_t count = 0;
  for (const ChromeEvent::Arg& arg : e.args) {
    if (arg.type == JsonType::null || arg.key.empty()) continue;
    const std::uint32_t key = name(arg.key, SpanKind::none);
    if (dropped_[key]) continue;
    if (++count > kMaxArguments) return;
    ArgType type = ArgType::text;
    std::uint64_t bits = 0;
    if (arg.type == JsonType::boolean) {
      type = ArgType::boolean;
      bits = arg.text == "true" ? 1 : 0;
    } else if (arg.type != JsonType::number || !encode_number(arg.text, type, bits)) {
      type = ArgType::text;
      bits = raw_.texts.of(base::cut_utf8(arg.text, kMaxTextBytes));
    }
    to.owner.push_back(owner);
    to.key.push_back(key);
    to.type.push_back(type);
    to.bits.push_back(bits);
  }
}

// --- the fields beside the events

bool ChromeMapper::wants(std::string_view key) const {
  return key == "baseTimeNanoseconds" || key == "distributedInfo" || key == "deviceProperties" ||
         key == "trace_id";
}

void ChromeMapper::field(std::string_view key, std::string_view json) {
  const auto in_int = [](std::int64_t value) -> std::optional<int> {
    if (value < 0 || value > std::numeric_limits<int>::max()) return std::nullopt;
    return static_cast<int>(value);
  };
  if (key == "baseTimeNanoseconds") {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(json.data(), json.data() + json.size(), value);
    if (error == std::errc() && stop == json.data() + json.size()) facts_.base_ns = value;
  } else if (key == "distributedInfo") {
    const base::JsonObject info(json);
    if (info.has("rank")) facts_.rank = in_int(info.integer("rank"));
    if (info.has("world_size")) facts_.world_size = in_int(info.integer("world_size"));
  } else if (key == "trace_id") {
    constexpr std::size_t kDigits = 32;
    std::string id;
    for (const char c : json) {
      if (std::isxdigit(static_cast<unsigned char>(c)) != 0) {
        id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    if (id.size() == kDigits) facts_.trace_id = id;
  } else if (json.starts_with('[')) {
    JsonCursor cursor(json.data() + 1, json.data() + json.size());
    char c = 0;
    while (facts_.devices.size() < kMaxDevices && cursor.next_byte(c) == Scan::ok && c != ']') {
      std::string_view item;
      if (c == ',') {
        cursor.take();
      } else if (cursor.skip(item) == Scan::ok) {
        facts_.devices.emplace_back(item);
      } else {
        break;
      }
    }
  }
}

bool ChromeMapper::progress() { return (!on_progress_ || on_progress_()) && !full(); }

void ChromeMapper::finish() {
  for (const RawSpan& span : raw_.spans) {
    counts_.unfinished += (span.flags & kSpanUnfinished) != 0 ? 1 : 0;
  }
  if (raw_.spans.empty()) return;
  const std::uint32_t row = facts_.devices.empty() ? 0 : counters_row();
  for (const std::string& text : facts_.devices) {
    const base::JsonObject device(text);
    if (!device.valid()) continue;
    const std::uint32_t event =
        add_event(row, name("genscope.entity", SpanKind::none), raw_.spans.front().begin_ns);
    add_text(event, "id", "gpu:" + std::to_string(device.integer("id")), raw_.event_args);
    add_text(event, "kind", "gpu", raw_.event_args);
    add_text(event, "name", device.text("name"), raw_.event_args);
    std::string facts;
    const auto add = [&](const char* fact, const char* key) {
      if (device.has(key))
        facts += std::string(fact) + "=" + std::to_string(device.integer(key)) + "\n";
    };
    add("memory_bytes", "totalGlobalMem");
    add("multiprocessors", "numSms");
    add("compute_major", "computeMajor");
    add("compute_minor", "computeMinor");
    add("warp_size", "warpSize");
    add_text(event, "facts", facts, raw_.event_args);
  }
}

}  // namespace genscope::store
