// A message is written in place: the length is filled in when it ends, and one that became too long
// takes itself back. Reading checks each number and text against what is left of the body; after
// the first that is missing all others are zero, so a message is judged once, at its end, and a bad
// one ends the connection. Cost: one copy each way.
#include "probe/wire.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace genscope::probe {
namespace {

enum class Type : std::uint8_t { entity = 1, series, reading, event, processes, state };

// One message: reserves the header, and fills in the length when it ends.
class Message {
 public:
  Message(std::string& out, Type type) : out_(out), begin_(out.size()) {
    number<std::uint32_t>(0);
    number(type);
  }
  ~Message() {
    const std::size_t body = out_.size() - begin_ - 5;
    if (body > kMaxBody) {
      out_.resize(begin_);  // the other side would give up on it
      return;
    }
    const auto length = static_cast<std::uint32_t>(body);
    std::memcpy(out_.data() + begin_, &length, sizeof(length));
  }
  template <class T>
  void number(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view text) {
    text = text.substr(0, 4096);
    number(static_cast<std::uint16_t>(text.size()));
    out_.append(text);
  }

 private:
  std::string& out_;
  std::size_t begin_;
};

// Reads a body; after the first missing byte everything is zero and good() false.
class Body {
 public:
  explicit Body(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T value{};
    if (bytes_.size() < sizeof(T)) {
      good_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view text() {
    const auto size = number<std::uint16_t>();
    if (size > bytes_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return text;
  }
  // A value of an enumeration with `count` members.
  template <class E>
  E choice(std::size_t count) {
    const auto value = number<std::uint8_t>();
    if (value >= count) good_ = false;
    return static_cast<E>(value);
  }
  bool good() const noexcept { return good_; }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

void put(Message& message, const Reading& reading) {
  message.number(reading.status);
  message.number(reading.value);
}

Reading get_reading(Body& body) {
  Reading reading;
  reading.status = body.choice<SampleStatus>(kSampleStatuses);
  reading.value = body.number<double>();
  return reading;
}

ProcessRow get_row(Body& body) {
  ProcessRow row;
  row.pid = body.number<std::uint32_t>();
  row.parent = body.number<std::uint32_t>();
  row.start = body.number<std::uint64_t>();
  row.visible = body.number<std::uint8_t>() != 0;
  const std::string_view text = body.text().substr(0, sizeof(row.name) - 1);
  std::copy(text.begin(), text.end(), row.name);
  row.cpu_ns = get_reading(body);
  row.rss_bytes = get_reading(body);
  row.gpu_memory_bytes = get_reading(body);
  row.gpu_busy_ratio = get_reading(body);
  return row;
}

bool read_entity(Body& body, WireReader::Handler& handler) {
  const auto number = body.number<std::uint32_t>();
  Entity entity;
  entity.kind = body.choice<EntityKind>(kEntityKinds);
  entity.id = body.text();
  entity.name = body.text();
  const auto facts = body.number<std::uint16_t>();
  for (std::uint16_t i = 0; i < facts && body.good(); ++i) {
    std::string key(body.text());
    entity.facts.emplace_back(std::move(key), std::string(body.text()));
  }
  if (body.good()) handler.on_entity(number, std::move(entity));
  return body.good();
}

bool read_processes(Body& body, std::vector<ProcessRow>& rows, WireReader::Handler& handler) {
  const auto entity = body.number<std::uint32_t>();
  const auto count = body.number<std::uint16_t>();
  rows.clear();
  for (std::uint16_t i = 0; i < count && body.good(); ++i) rows.push_back(get_row(body));
  if (body.good()) handler.on_processes(entity, rows);
  return body.good();
}

bool read_message(Type type, Body body, std::vector<ProcessRow>& rows,
                  WireReader::Handler& handler) {
  switch (type) {
    case Type::entity:
      return read_entity(body, handler);
    case Type::series: {
      const auto series = body.number<std::uint32_t>();
      const auto entity = body.number<std::uint32_t>();
      const std::string_view metric = body.text();
      const std::string_view source = body.text();
      if (body.good()) handler.on_series(series, entity, metric, source);
      return body.good();
    }
    case Type::reading: {
      const auto series = body.number<std::uint32_t>();
      const Reading reading = get_reading(body);
      const std::string_view reason = body.text();
      if (body.good()) handler.on_reading(series, reading.status, reading.value, reason);
      return body.good();
    }
    case Type::event: {
      const auto entity = body.number<std::uint32_t>();
      const std::string_view what = body.text();
      const std::string_view detail = body.text();
      if (body.good()) handler.on_event(entity, what, detail);
      return body.good();
    }
    case Type::processes:
      return read_processes(body, rows, handler);
    case Type::state: {
      const std::string_view probe = body.text();
      ProbeState state;
      state.kind = body.choice<ProbeState::Kind>(4);
      state.reason = body.text();
      state.remedy = body.text();
      if (body.good()) handler.on_state(probe, std::move(state));
      return body.good();
    }
  }
  return false;
}

}  // namespace

void WireWriter::add_entity(std::uint32_t entity, const Entity& what) noexcept {
  Message message(out_, Type::entity);
  message.number(entity);
  message.number(what.kind);
  message.text(what.id);
  message.text(what.name);
  const std::size_t facts = std::min<std::size_t>(what.facts.size(), 64);
  message.number(static_cast<std::uint16_t>(facts));
  for (std::size_t i = 0; i < facts; ++i) {
    message.text(what.facts[i].first.substr(0, 64));
    message.text(what.facts[i].second.substr(0, 512));
  }
}

void WireWriter::add_series(std::uint32_t series, std::uint32_t entity, const Metric& metric,
                            std::string_view source) noexcept {
  Message message(out_, Type::series);
  message.number(series);
  message.number(entity);
  message.text(metric.id);
  message.text(source);
}

void WireWriter::add_reading(std::uint32_t series, const Reading& reading) noexcept {
  Message message(out_, Type::reading);
  message.number(series);
  put(message, reading);
  message.text(reading.reason != nullptr ? reading.reason : "");
}

void WireWriter::add_event(std::uint32_t entity, std::string_view name,
                           std::string_view detail) noexcept {
  Message message(out_, Type::event);
  message.number(entity);
  message.text(name);
  message.text(detail);
}

void WireWriter::set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept {
  Message message(out_, Type::processes);
  message.number(entity);
  message.number(static_cast<std::uint16_t>(rows.size()));
  for (const ProcessRow& row : rows) {
    message.number(row.pid);
    message.number(row.parent);
    message.number(row.start);
    message.number(static_cast<std::uint8_t>(row.visible));
    message.text(std::string_view(row.name, strnlen(row.name, sizeof(row.name))));
    put(message, row.cpu_ns);
    put(message, row.rss_bytes);
    put(message, row.gpu_memory_bytes);
    put(message, row.gpu_busy_ratio);
  }
}

void WireWriter::add_state(std::string_view probe, const ProbeState& state) noexcept {
  Message message(out_, Type::state);
  message.text(probe);
  message.number(state.kind);
  message.text(state.reason);
  message.text(state.remedy);
}

bool WireReader::feed(std::string_view bytes, Handler& handler) {
  pending_.append(bytes);
  std::string_view rest = pending_;
  bool good = true;
  while (good && rest.size() >= 5) {
    std::uint32_t length = 0;
    std::memcpy(&length, rest.data(), sizeof(length));
    if (length > kMaxBody) {
      good = false;
      break;
    }
    if (rest.size() < 5 + std::size_t{length}) break;
    good = read_message(static_cast<Type>(rest[4]), Body(rest.substr(5, length)), rows_, handler);
    rest.remove_prefix(5 + std::size_t{length});
  }
  pending_.erase(0, pending_.size() - rest.size());
  return good;
}

}  // namespace genscope::probe
