#include "service/ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

namespace genscope {

ServiceField field(std::string name) {
  return {.name = std::move(name), .otherwise = std::string(), .needed = true};
}
ServiceField field(std::string name, const char* otherwise) {
  return {.name = std::move(name), .otherwise = std::string(otherwise)};
}
ServiceField field(std::string name, std::int64_t otherwise, std::int64_t least,
                   std::int64_t most) {
  return {.name = std::move(name),
          .otherwise = otherwise,
          .least = static_cast<double>(least),
          .most = static_cast<double>(most)};
}
ServiceField field(std::string name, double otherwise, double least, double most) {
  return {.name = std::move(name), .otherwise = otherwise, .least = least, .most = most};
}

namespace {

template <class T>
const T& value_of(const ServiceAsk& ask, std::string_view field) {
  for (const auto& [name, value] : ask.values) {
    if (name != field) continue;
    if (const T* const found = std::get_if<T>(&value)) return *found;
  }
  fmt::print(stderr, "genscope: the service has no field {} of this type\n", field);
  std::abort();
}

}  // namespace

const std::string& ServiceAsk::text(std::string_view field) const {
  return value_of<std::string>(*this, field);
}
std::int64_t ServiceAsk::integer(std::string_view field) const {
  return value_of<std::int64_t>(*this, field);
}
double ServiceAsk::number(std::string_view field) const { return value_of<double>(*this, field); }

namespace service {
namespace {

using Json = nlohmann::json;

constexpr double kLongestDeadline = 24 * 3600;

Error wrong(std::string_view field, std::string_view what) {
  return {ErrorCode::invalid_argument, fmt::format("{}: {}", field, what)};
}

std::string range_of(const ServiceField& field) {
  return fmt::format("{} to {}", field.least, field.most);
}

Result<ServiceValue> read_value(const ServiceField& field, const Json& given) {
  if (std::holds_alternative<std::string>(field.otherwise)) {
    if (!given.is_string()) return wrong(field.name, "give a text");
    const auto& text = given.get_ref<const std::string&>();
    if (text.size() > field.most_bytes) {
      return wrong(field.name,
                   fmt::format("it has {} bytes; give at most {}", text.size(), field.most_bytes));
    }
    return ServiceValue(text);
  }
  const bool whole = std::holds_alternative<std::int64_t>(field.otherwise);
  if (!given.is_number() || (whole && !given.is_number_integer())) {
    return wrong(field.name,
                 fmt::format("give a {}, {}", whole ? "whole number" : "number", range_of(field)));
  }
  const double value = given.get<double>();
  const bool huge = given.is_number_unsigned() && given.get<std::uint64_t>() > INT64_MAX;
  if ((whole && huge) || !(value >= field.least && value <= field.most)) {
    return wrong(field.name, fmt::format("it is {}; give {}", value, range_of(field)));
  }
  if (whole) return ServiceValue(given.get<std::int64_t>());
  return ServiceValue(value);
}

template <class Named>
std::string names_of(const std::vector<Named>& all) {
  std::string out;
  for (const Named& one : all) out += (out.empty() ? "" : ", ") + one.name;
  return out;
}

// One of `all` by name; the first if the request does not say.
template <class Named>
Status read_choice(const Json& body, const char* key, const std::vector<Named>& all,
                   std::string& out) {
  out = all.front().name;
  const auto found = body.find(key);
  if (found == body.end()) return Done{};
  if (found->is_string()) {
    out = found->get<std::string>();
    for (const Named& one : all) {
      if (one.name == out) return Done{};
    }
  }
  return wrong(key, "there are " + names_of(all));
}

}  // namespace

Result<ServiceAsk> read_ask(const ServiceOptions& options, std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) {
    return Error{ErrorCode::bad_data,
                 "the body is no JSON object; send {\"" + options.fields.front().name + "\": ...}"};
  }
  static const std::set<std::string_view> kOwn = {"model", "priority", "tenant", "deadline"};
  for (const auto& [key, value] : json.items()) {
    const bool known =
        kOwn.count(key) > 0 ||
        std::any_of(options.fields.begin(), options.fields.end(),
                    [&name = key](const ServiceField& one) { return one.name == name; });
    if (!known) {
      return wrong(key.substr(0, 64), "there is no such field; there are " +
                                          names_of(options.fields) +
                                          ", model, priority, tenant, deadline");
    }
  }
  ServiceAsk ask;
  if (Status read = read_choice(json, "model", options.models, ask.model); !read)
    return read.error();
  if (Status read = read_choice(json, "priority", options.classes, ask.priority); !read)
    return read.error();
  const ServiceField tenant{.name = "tenant", .otherwise = std::string(), .most_bytes = 64};
  const ServiceField deadline{.name = "deadline",
                              .otherwise = options.slo_seconds,
                              .least = 1e-6,
                              .most = kLongestDeadline};
  const auto read = [&](const ServiceField& field) -> Result<ServiceValue> {
    if (const auto found = json.find(field.name); found != json.end())
      return read_value(field, *found);
    if (field.needed) return wrong(field.name, "it is needed");
    return field.otherwise;
  };
  Result<ServiceValue> who = read(tenant), when = read(deadline);
  if (!who) return who.error();
  if (!when) return when.error();
  ask.tenant = std::get<std::string>(*who);
  ask.deadline_seconds = std::get<double>(*when);
  for (const ServiceField& field : options.fields) {
    Result<ServiceValue> value = read(field);
    if (!value) return value.error();
    ask.values.emplace_back(field.name, *std::move(value));
  }
  return ask;
}

optimize::Key answer_key(const ServiceOptions& options, const ServiceAsk& ask) {
  optimize::KeyBuilder key(options.name);
  key.add("model", ask.model);
  for (const auto& [name, value] : ask.values) {
    std::visit([&, &field = name](const auto& is) { key.add(field, is); }, value);
  }
  return key.build();
}

std::string batch_key(const ServiceOptions& options, const ServiceAsk& ask) {
  std::string out = ask.model;
  for (const auto& [name, value] : ask.values) {
    if (std::find(options.alike.begin(), options.alike.end(), name) == options.alike.end())
      continue;
    std::visit([&, &field = name](const auto& is) { out += fmt::format(" {}={}", field, is); },
               value);
  }
  return out;
}

Status check(const ServiceOptions& options) {
  const auto bad = [](std::string what) {
    return Error{ErrorCode::invalid_argument, "ServiceOptions::" + std::move(what)};
  };
  if (options.models.empty()) return bad("models is empty; give at least one");
  if (options.fields.empty()) return bad("fields is empty; give at least one");
  if (options.classes.empty()) return bad("classes is empty; give at least one");
  for (const ServiceModel& model : options.models) {
    if (!model.load) return bad("models: " + model.name + " has no load");
  }
  for (const std::string& name : options.alike) {
    if (std::none_of(options.fields.begin(), options.fields.end(),
                     [&](const ServiceField& one) { return one.name == name; })) {
      return bad("alike: there is no field " + name);
    }
  }
  return Done{};
}

}  // namespace service
}  // namespace genscope
