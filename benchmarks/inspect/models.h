// Model files as large as real ones: true headers, data as holes.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

class ModelFolder {
 public:
  ModelFolder();  // in $TMPDIR or /tmp
  ~ModelFolder();
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// `count` tensors from number `first`, names like those of a transformer (or "k7" if short).
void write_safetensors(const std::string& path, int first, int count, bool short_names = false);
// Token, score, type and merge arrays of so many entries, and 400 tensors.
void write_gguf(const std::string& path, int tokens);
// A torch checkpoint (zip) of so many tensors.
void write_torch(const std::string& path, int tensors);
// Seven parts in thirty files: four shards for a denoiser and three for each text encoder.
void write_pipeline(const std::string& folder);
// The JSON of a safetensors file.
std::string header_of(const std::string& path);

}  // namespace bench
