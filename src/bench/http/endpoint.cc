#include "bench/http/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "bench/http/template.h"

namespace genscope::bench {
namespace {

using EndpointJson = nlohmann::ordered_json;

constexpr EndpointKind kEndpointKinds[] = {
    {"openai-images", "/images/generations", AnswerKind::images,
     R"({"prompt": "{prompt}", "n": 1, "response_format": "b64_json"})",
     "/data/0/b64_json|/data/0/url"},
    {"openai-chat", "/chat/completions", AnswerKind::chat,
     R"({"messages": [{"role": "user", "content": "{prompt}"}], "stream": true,)"
     R"( "stream_options": {"include_usage": true}})",
     ""},
    {"comfyui", "/prompt", AnswerKind::comfy, "", ""},
    {"json", "", AnswerKind::json, "", ""},
};

Error bad_option(std::string_view what) { return {ErrorCode::invalid_argument, std::string(what)}; }

Result<const EndpointKind*> kind_of(const HttpOptions& options, const Address& address) {
  const std::string path = address.path();
  std::vector<std::string> known;
  for (const EndpointKind& kind : kEndpointKinds) {
    const bool by_path = !kind.path_end.empty() && path.ends_with(kind.path_end);
    if (options.endpoint.empty() ? by_path : options.endpoint == kind.name) return &kind;
    known.emplace_back(kind.name);
  }
  if (options.endpoint.empty()) return &kEndpointKinds[std::size(kEndpointKinds) - 1];
  const std::string meant = base::nearest(options.endpoint, known);
  return bad_option(fmt::format("endpoint '{}': there is none of that name; {}", options.endpoint,
                                meant.empty() ? "they are openai-images, openai-chat, comfyui, json"
                                              : "did you mean '" + meant + "'?"));
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

Status check_header(const std::string& name, const std::string& value) {
  const bool plain = std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
  for (const std::string_view ours : {"content-length", "transfer-encoding", "connection"}) {
    if (name.size() == ours.size() &&
        std::equal(name.begin(), name.end(), ours.begin(), [](char a, char b) {
          return std::tolower(static_cast<unsigned char>(a)) == b;
        })) {
      return bad_option(fmt::format("header '{}': genscope sets it itself; leave it out", name));
    }
  }
  if (is_token(name) && plain) return Done{};
  return bad_option(fmt::format("header '{}': a header is `Name: value` on one line", name));
}

// The endpoint's own body has every parameter as a field, but for those that it places itself.
Result<std::string> own_body(const EndpointKind& kind, const Request& request) {
  const Result<std::string> text = fill(kind.body, template_values(request), Filling::json);
  if (!text) return text.error();
  EndpointJson body = EndpointJson::parse(*text, nullptr, false);
  for (const auto& [name, value] : request.params) {
    EndpointJson given = EndpointJson::parse(value, nullptr, false);
    const bool text_value = given.is_discarded() || given.is_structured() || given.is_string();
    body[name] = text_value ? EndpointJson(value) : given;
  }
  if (request.seed) body["seed"] = *request.seed;
  return body.dump(-1, ' ', false, EndpointJson::error_handler_t::replace);
}

// ComfyUI takes a workflow as the field "prompt".
std::string as_comfy(std::string body) {
  const EndpointJson whole = EndpointJson::parse(body, nullptr, false);
  if (whole.is_object() && whole.contains("prompt")) return body;
  return R"({"prompt": )" + body + "}";
}

}  // namespace

std::span<const EndpointKind> endpoint_kinds() noexcept { return kEndpointKinds; }

std::vector<std::string_view> http_endpoints() {
  std::vector<std::string_view> names;
  for (const EndpointKind& kind : kEndpointKinds) names.push_back(kind.name);
  return names;
}

Result<Endpoint> Endpoint::open(HttpOptions options, const Params& params) {
  Endpoint endpoint;
  Request example;
  example.params = params;
  example.prompt = "a red cube";
  example.seed = 1;
  Result<std::string> url = fill(options.url, template_values(example), Filling::plain);
  if (!url) return url.error();
  Result<Address> address = parse_address(*url);
  if (!address) return address.error();
  endpoint.address_ = *std::move(address);
  const Result<const EndpointKind*> kind = kind_of(options, endpoint.address_);
  if (!kind) return kind.error();
  endpoint.kind_ = *kind;
  if (endpoint.kind_->reading == AnswerKind::comfy && options.body.empty()) {
    return bad_option(
        "comfyui needs a workflow in API format as the body; save one in ComfyUI by "
        "Workflow, Export (API), and put {prompt} and {seed} where they belong");
  }
  if (!options.method.empty() && !is_token(options.method)) {
    return bad_option(fmt::format("method '{}': one word, such as POST", options.method));
  }
  if (!options.ok_pointer.empty() && options.ok_pointer.front() != '/') {
    return bad_option(
        fmt::format("'{}': a JSON pointer begins with /, such as /data/0/url", options.ok_pointer));
  }
  if (!(options.timeout_s > 0)) return bad_option("the time limit of a request is above 0 seconds");
  if (options.connections == 0) return bad_option("at least one connection is needed");
  endpoint.options_ = std::move(options);
  const Result<Outgoing> made = endpoint.request(example);
  if (!made) return made.error();
  return endpoint;
}

Result<Outgoing> Endpoint::request(const Request& request) const {
  const Params values = template_values(request);
  Outgoing out;
  out.target = address_.target;
  if (options_.url.find('{') != std::string::npos) {
    const Result<std::string> url = fill(options_.url, values, Filling::plain);
    if (!url) return url.error();
    const Result<Address> address = parse_address(*url);
    if (!address) return address.error();
    out.target = address->target;
  }
  if (!options_.body.empty()) {
    Result<std::string> body = fill(options_.body, values, Filling::json);
    if (!body) return body.error();
    if (!EndpointJson::accept(*body)) {
      return bad_option(
          "the body is not JSON once its values are put in: write {prompt} within "
          "quotes or without, and no comma at the end of a list");
    }
    out.body = kind_->reading == AnswerKind::comfy ? as_comfy(*std::move(body)) : *std::move(body);
  } else if (!kind_->body.empty()) {
    Result<std::string> body = own_body(*kind_, request);
    if (!body) return body.error();
    out.body = *std::move(body);
  }
  out.method = !options_.method.empty() ? options_.method : out.body.empty() ? "GET" : "POST";
  if (!out.body.empty()) out.headers.emplace_back("Content-Type", "application/json");
  out.headers.emplace_back(
      "Accept", kind_->reading == AnswerKind::chat ? "text/event-stream, application/json" : "*/*");
  for (const auto& [name, value] : options_.headers) {
    Result<std::string> filled = fill(value, values, Filling::plain);
    if (!filled) return filled.error();
    if (const Status fine = check_header(name, *filled); !fine) return fine.error();
    std::erase_if(out.headers, [&name = name](const auto& header) { return header.first == name; });
    out.headers.emplace_back(name, *std::move(filled));
  }
  return out;
}

}  // namespace genscope::bench
