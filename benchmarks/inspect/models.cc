#include "models.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace bench {
namespace {

namespace fs = std::filesystem;

template <class T>
std::string raw(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

// `head`, then a hole of so many bytes.
void write_sparse(const std::string& path, const std::string& head, std::uint64_t hole) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << head;
  std::error_code failed;
  fs::resize_file(path, head.size() + hole, failed);
  if (failed) {
    std::printf("%s: no sparse file of %zu bytes here\n", path.c_str(), head.size() + hole);
    std::exit(1);
  }
}

std::string tensor_name(int i) {
  constexpr const char* kLayers[] = {"attn.to_q",       "attn.to_k",     "attn.to_v",
                                     "attn.add_q_proj", "attn.to_out.0", "img_mlp.net.0.proj",
                                     "txt_mlp.net.2",   "img_mod.1"};
  return "transformer_blocks." + std::to_string(i / 16) + "." + kLayers[i / 2 % 8] +
         (i % 2 == 0 ? ".weight" : ".bias");
}

std::string gguf_text(const std::string& text) { return raw(std::uint64_t{text.size()}) + text; }

std::string gguf_array(const std::string& key, std::uint32_t type, int count,
                       const std::string& elements) {
  return gguf_text(key) + raw(std::uint32_t{9}) + raw(type) +
         raw(static_cast<std::uint64_t>(count)) + elements;
}

std::string unicode(const std::string& text) {
  return "X" + raw(static_cast<std::uint32_t>(text.size())) + text;
}

void write_part(const std::string& folder, int first, int shards) {
  const std::string stem = "diffusion_pytorch_model";
  std::ofstream(folder + "/config.json") << R"({"_class_name":"Model","num_layers":60})";
  if (shards == 1) {
    write_safetensors(folder + "/" + stem + ".safetensors", first, 250);
    return;
  }
  std::string map;
  for (int s = 0; s < shards; ++s) {
    char file[80];
    std::snprintf(file, sizeof file, "%s-%05d-of-%05d.safetensors", stem.c_str(), s + 1, shards);
    write_safetensors(folder + "/" + file, s * 400, 400);
    for (int i = s * 400; i < (s + 1) * 400; ++i) {
      map += (map.empty() ? "\"" : ",\"") + tensor_name(i) + "\":\"" + file + "\"";
    }
  }
  std::ofstream(folder + "/" + stem + ".safetensors.index.json")
      << "{\"weight_map\":{" << map << "}}";
}

}  // namespace

ModelFolder::ModelFolder() {
  const char* const tmp = std::getenv("TMPDIR");
  path_ = std::string(tmp != nullptr && *tmp != '\0' ? tmp : "/tmp") + "/bench-inspect-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) std::abort();
}

ModelFolder::~ModelFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_safetensors(const std::string& path, int first, int count, bool short_names) {
  std::string json = R"({"__metadata__":{"format":"pt"})";
  std::uint64_t at = 0;
  for (int i = first; i < first + count; ++i) {
    const std::uint64_t bytes = short_names ? 2 : std::uint64_t{3072} * 3072 * 2;
    json += ",\"" + (short_names ? "k" + std::to_string(i) : tensor_name(i)) +
            R"(":{"dtype":"BF16","shape":)" + (short_names ? "[1]" : "[3072,3072]") +
            R"(,"data_offsets":[)" + std::to_string(at) + "," + std::to_string(at + bytes) + "]}";
    at += bytes;
  }
  json += "}";
  write_sparse(path, raw(std::uint64_t{json.size()}) + json, at);
}

void write_gguf(const std::string& path, int tokens) {
  constexpr std::uint64_t kTensors = 400;
  std::string texts, merges;
  for (int i = 0; i < tokens; ++i) {
    texts += gguf_text("token" + std::to_string(i));
    merges += gguf_text("tok en" + std::to_string(i));
  }
  const auto numbers = std::string(static_cast<std::size_t>(tokens) * 4, '\0');
  std::string head = "GGUF" + raw(std::uint32_t{3}) + raw(kTensors) + raw(std::uint64_t{4}) +
                     gguf_array("tokenizer.ggml.tokens", 8, tokens, texts) +
                     gguf_array("tokenizer.ggml.scores", 6, tokens, numbers) +
                     gguf_array("tokenizer.ggml.token_type", 5, tokens, numbers) +
                     gguf_array("tokenizer.ggml.merges", 8, tokens, merges);
  constexpr std::uint64_t kBytes = std::uint64_t{4096} * 4096 / 256 * 144;  // q4_k
  for (std::uint64_t i = 0; i < kTensors; ++i) {
    head += gguf_text("blk." + std::to_string(i) + ".attn_q.weight") + raw(std::uint32_t{2}) +
            raw(std::uint64_t{4096}) + raw(std::uint64_t{4096}) + raw(std::uint32_t{12}) +
            raw(i * kBytes);
  }
  head.resize((head.size() + 31) / 32 * 32, '\0');
  write_sparse(path, head, kTensors * kBytes);
}

// As torch.save() writes it, memo entries included; the storages are left out, a checkpoint's
// header tells all.
void write_torch(const std::string& path, int tensors) {
  std::uint32_t memo = 0;
  const auto put = [&] { return "r" + raw(memo++); };
  std::string pickle = "\x80\x02}" + put() + "(";
  for (int i = 0; i < tensors; ++i) {
    pickle += unicode(tensor_name(i)) + put() + "ctorch._utils\n_rebuild_tensor_v2\n((" +
              unicode("storage") + "ctorch\nBFloat16Storage\n" + unicode(std::to_string(i)) +
              put() + unicode("cpu") + "J" + raw(64) + "t" + put() + "QK" + std::string(1, '\0') +
              "K\x08K\x08\x86" + put() + "K\x08K\x01\x86" + put() +
              "\x89"
              "ccollections\nOrderedDict\n)R" +
              put() + "t" + put() + "R" + put();
  }
  pickle += "u.";
  const std::string name = "archive/data.pkl";
  const std::string sizes = std::string(12, '\0') + raw(static_cast<std::uint32_t>(pickle.size())) +
                            raw(static_cast<std::uint32_t>(pickle.size())) +
                            raw(static_cast<std::uint16_t>(name.size())) + std::string(2, '\0');
  const std::string local = "PK\x03\x04" + std::string(2, '\0') + sizes + name + pickle;
  const std::string entry =
      "PK\x01\x02" + std::string(4, '\0') + sizes + std::string(14, '\0') + name;
  write_sparse(path,
               local + entry + "PK\x05\x06" + std::string(4, '\0') + raw(std::uint16_t{1}) +
                   raw(std::uint16_t{1}) + raw(static_cast<std::uint32_t>(entry.size())) +
                   raw(static_cast<std::uint32_t>(local.size())) + std::string(2, '\0'),
               0);
}

void write_pipeline(const std::string& folder) {
  fs::create_directories(folder);
  std::ofstream(folder + "/model_index.json")
      << R"({"_class_name":"Pipeline","scheduler":["d","Scheduler"],"tokenizer":["t","Tokenizer"],)"
         R"("transformer":["d","Model"],"transformer_2":["d","Model"],"text_encoder":["t","Model"],)"
         R"("text_encoder_2":["t","Model"],"vae":["d","Model"]})";
  for (const char* const part : {"scheduler", "tokenizer", "transformer", "transformer_2",
                                 "text_encoder", "text_encoder_2", "vae"}) {
    fs::create_directories(folder + "/" + part);
  }
  std::ofstream(folder + "/scheduler/scheduler_config.json") << "{}";
  for (const char* const name : {"tokenizer_config.json", "vocab.json", "merges.txt"}) {
    std::ofstream(folder + "/tokenizer/" + name) << "{}";
  }
  write_part(folder + "/transformer", 0, 5);
  write_part(folder + "/transformer_2", 0, 5);
  write_part(folder + "/text_encoder", 0, 3);
  write_part(folder + "/text_encoder_2", 0, 2);
  write_part(folder + "/vae", 0, 1);
}

std::string header_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::uint64_t length = 0;
  in.read(reinterpret_cast<char*>(&length), sizeof length);
  std::string json(length, '\0');
  in.read(json.data(), static_cast<std::streamsize>(length));
  return json;
}

}  // namespace bench
