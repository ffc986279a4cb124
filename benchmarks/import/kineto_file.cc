#include "kineto_file.h"

#include <zlib.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace bench {
namespace {

constexpr const char* kHead = R"({
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100", "totalGlobalMem": 101997215744, "numSms": 132
    }
  ],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1743521598000000000,
  "traceEvents": [
)";
constexpr const char* kTail =
    "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n"
    "    \"pid\": \"\", \"tid\": \"\", \"ts\": 0.0\n  }\n  ],\n  \"traceName\": \"bench\"\n}\n";

constexpr std::array<const char*, 8> kOps = {
    "aten::linear", "aten::addmm",   "aten::conv2d",    "aten::native_group_norm",
    "aten::silu",   "aten::softmax", "aten::transpose", "aten::scaled_dot_product_attention"};

class Writer {
 public:
  Writer(const std::string& path, const std::string& gzip_path)
      : plain_(std::fopen(path.c_str(), "wb")),
        gzip_(gzip_path.empty() ? nullptr : ::gzopen(gzip_path.c_str(), "wb1")) {
    if (plain_ == nullptr) std::abort();
  }
  ~Writer() {
    std::fclose(plain_);
    if (gzip_ != nullptr) ::gzclose(gzip_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void put(const char* text, int size) {
    const auto n = static_cast<std::size_t>(size);
    if (std::fwrite(text, 1, n, plain_) != n) std::abort();
    if (gzip_ != nullptr && ::gzwrite(gzip_, text, static_cast<unsigned>(size)) != size) {
      std::abort();
    }
    out.bytes += n;
  }
  template <class... Args>
  void event(const char* format, Args... args) {
    std::array<char, 2048> text{};
    put(text.data(), std::snprintf(text.data(), text.size(), format, args...));
    out.events++;
  }

  KinetoFile out;

 private:
  std::FILE* plain_;
  gzFile gzip_;
};

// One operator within another, the call that launches, the kernel, an arrow between them.
void operation(Writer& w, std::mt19937_64& random, std::uint64_t id, double& cpu, double& gpu) {
  const char* const op = kOps[random() % kOps.size()];
  const auto dim = static_cast<unsigned>(64 << random() % 6);
  const double work = 20 + static_cast<double>(random() % 100'000) / 1000;
  w.event(
      "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 4100, \"tid\": "
      "4100,\n"
      "    \"ts\": %.3f, \"dur\": %.3f,\n    \"args\": {\n"
      "      \"External id\": %llu,\"Sequence number\": %llu, \"Fwd thread id\": 0, "
      "\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"\", \"\"], "
      "\"Input type\": [\"c10::Half\", \"c10::Half\", \"\"], "
      "\"Input Dims\": [[2, %u], [%u, 320], []], \"Ev Idx\": %llu\n    }\n  },\n",
      op, cpu, work, static_cast<unsigned long long>(id), static_cast<unsigned long long>(id / 2),
      dim, dim, static_cast<unsigned long long>(id));
  w.event(
      "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
      "\"pid\": 4100, \"tid\": 4100,\n    \"ts\": %.3f, \"dur\": %.3f,\n    \"args\": {\n"
      "      \"External id\": %llu, \"cbid\": 211, \"correlation\": %llu\n    }\n  },\n",
      cpu + 5, work / 8, static_cast<unsigned long long>(id), static_cast<unsigned long long>(id));
  gpu = gpu > cpu + 10 ? gpu : cpu + 10;
  w.event(
      "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::"
      "vectorized_elementwise_kernel<4, at::native::%s_functor<c10::Half>, std::array<char*, 2ul> "
      ">(int, at::native::%s_functor<c10::Half>, std::array<char*, 2ul>)\", \"pid\": 0, "
      "\"tid\": 7,\n    \"ts\": %.3f, \"dur\": %.3f,\n    \"args\": {\n"
      "      \"External id\": %llu, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, "
      "\"correlation\": %llu, \"registers per thread\": 32, \"shared memory\": 0, "
      "\"blocks per SM\": %.6f, \"warps per SM\": 12.0, \"grid\": [%u, 1, 1], "
      "\"block\": [128, 1, 1], \"est. achieved occupancy %%\": %u\n    }\n  },\n",
      op + 6, op + 6, gpu, work * 0.9, static_cast<unsigned long long>(id),
      static_cast<unsigned long long>(id), dim / 132.0, dim, dim % 100);
  w.event(
      "  {\n    \"ph\": \"s\", \"id\": %llu, \"pid\": 4100, \"tid\": 4100, \"ts\": %.3f,\n"
      "    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n",
      static_cast<unsigned long long>(id), cpu + 5);
  w.event(
      "  {\n    \"ph\": \"f\", \"id\": %llu, \"pid\": 0, \"tid\": 7, \"ts\": %.3f,\n"
      "    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n",
      static_cast<unsigned long long>(id), gpu);
  if (id % 4 == 0) {
    w.event(
        "  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", "
        "\"pid\": 4100, \"tid\": 4100, \"s\": \"t\",\n    \"ts\": %.3f,\n    \"args\": {\n"
        "      \"Total Reserved\": 2097152, \"Total Allocated\": %u, \"Bytes\": %u, "
        "\"Addr\": 140123456789504, \"Device Id\": 0, \"Device Type\": 1, \"Ev Idx\": 0\n"
        "    }\n  },\n",
        cpu + 6, dim * 512, dim);
  }
  gpu += work * 0.9;
  cpu += work + 1;
}

}  // namespace

KinetoFile write_kineto(const std::string& path, const std::string& gzip_path,
                        std::uint64_t bytes) {
  Writer w(path, gzip_path);
  std::mt19937_64 random(7);
  const std::string head = kHead, tail = kTail;
  w.put(head.data(), static_cast<int>(head.size()));
  double cpu = 1000, gpu = 1000;
  std::uint64_t id = 1;
  for (std::uint64_t step = 0; w.out.bytes < bytes; ++step) {
    const double from = cpu;
    cpu += 10;
    for (int i = 0; i < 500; ++i) operation(w, random, id++, cpu, gpu);
    w.event(
        "  {\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%llu\", "
        "\"pid\": 4100, \"tid\": 4100,\n    \"ts\": %.3f, \"dur\": %.3f\n  },\n",
        static_cast<unsigned long long>(step), from, cpu - from);
    cpu += 5;
  }
  w.put(tail.data(), static_cast<int>(tail.size()));
  w.out.events++;
  return w.out;
}

}  // namespace bench
