// What is this model file? Without an argument it looks at a small file that it writes itself.
//   example_inspect_model models/FLUX.1-dev
#include <genscope/inspect.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

// A safetensors file: the length of the header, the header, the data.
std::string write_sample() {
  const std::string header =
      R"({"double_blocks.0.img_attn.norm.key_norm.scale":)"
      R"({"dtype":"BF16","shape":[16],"data_offsets":[0,32]},)"
      R"("img_in.weight":{"dtype":"BF16","shape":[32,64],"data_offsets":[32,4128]},)"
      R"("txt_in.weight":{"dtype":"BF16","shape":[32,24],"data_offsets":[4128,5664]}})";
  const std::string path = "inspect_model_sample.safetensors";
  const std::uint64_t length = header.size();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << header << std::string(5664, '\0');
  return path;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : write_sample();
  const genscope::Result<genscope::Model> model = genscope::inspect_model(path);
  if (argc == 1) std::remove(path.c_str());
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().message.c_str());
    return 1;
  }
  std::printf("%s, confidence %s\n", model->identity.title.c_str(),
              std::string(name(model->identity.confidence)).c_str());
  for (const genscope::Component& part : model->components) {
    std::printf("%-16s %-12s %llu parameters, %llu bytes\n", part.name.c_str(),
                part.identity.architecture.c_str(),
                static_cast<unsigned long long>(part.parameters),
                static_cast<unsigned long long>(part.bytes));
  }
  return model->identity.architecture.empty() ? 1 : 0;
}
