// Data sheets. To add a device: a row, its source, and its name as the driver says it in
// hardware_test.cc.
//
// Two traps. Vendors print figures with structured sparsity, twice the dense ones. And GeForce
// cards run fp16 with fp16 accumulation at twice the rate of fp32 accumulation, which is what
// diffusion uses: their rate is 4 FLOPs a clock and CUDA core, that of professional cards of the
// same chips 8. Rates in 4 bits are given where a vendor prints them or the chip's do.
#include <fmt/format.h>

#include <cmath>

#include <genscope/predict.h>

namespace genscope {
namespace {

// Host to device, one direction, as large pinned copies reach it.
constexpr double kPcie3 = 12, kPcie4 = 25, kPcie4x8 = 12.5, kPcie5 = 50;

double rounded(double tflops) { return std::round(tflops * 10) / 10; }

struct Card {
  const char* name;
  double cores, boost_ghz;
  double bandwidth_gbs, memory_gib, watts, link_gbs;
};

// GeForce: fp32 accumulation at half rate. fp8 (from Ada on) at twice the rate of bf16. Integers
// have the full rate: int8 four times that of bf16, 4 bits eight times.
Hardware geforce(const Card& card, bool fp8) {
  Hardware h;
  h.name = card.name;
  h.bf16_tflops = rounded(card.cores * 4 * card.boost_ghz / 1000);
  if (fp8) h.fp8_tflops = rounded(card.cores * 8 * card.boost_ghz / 1000);
  h.int8_tops = rounded(card.cores * 16 * card.boost_ghz / 1000);
  h.four_bit_tflops = rounded(card.cores * 32 * card.boost_ghz / 1000);
  h.bandwidth_gbs = card.bandwidth_gbs;
  h.memory_gib = card.memory_gib;
  h.watts = card.watts;
  h.link_gbs = card.link_gbs;
  h.source = fmt::format(
      "NVIDIA's specification: {} CUDA cores at {} GHz boost, 4 FLOPs a clock (dense, fp32 "
      "accumulate)",
      card.cores, card.boost_ghz);
  return h;
}

struct Sheet {
  const char* name;
  double bf16;
  std::optional<double> fp8, fp16;
  double bandwidth_gbs, memory_gib;
  double watts;
  double link_gbs;
  const char* source;
  std::optional<double> int8 = {}, four_bit = {};
};

Hardware from_sheet(const Sheet& s) {
  return {.name = s.name,
          .bf16_tflops = s.bf16,
          .fp8_tflops = s.fp8,
          .fp16_tflops = s.fp16,
          .bandwidth_gbs = s.bandwidth_gbs,
          .memory_gib = s.memory_gib,
          .watts = s.watts,
          .link_gbs = s.link_gbs,
          .source = s.source,
          .measured = false,
          .int8_tops = s.int8,
          .four_bit_tflops = s.four_bit};
}

constexpr Card kAmpere[] = {
    {"RTX 3060", 3584, 1.777, 360, 12, 170, kPcie4},
    {"RTX 3070", 5888, 1.725, 448, 8, 220, kPcie4},
    {"RTX 3080", 8704, 1.71, 760, 10, 320, kPcie4},
    {"RTX 3080 Ti", 10240, 1.665, 912, 12, 350, kPcie4},
    {"RTX 3090", 10496, 1.695, 936, 24, 350, kPcie4},
    {"RTX 3090 Ti", 10752, 1.86, 1008, 24, 450, kPcie4},
};
constexpr Card kAdaAndBlackwell[] = {
    {"RTX 4060 Ti 16GB", 4352, 2.535, 288, 16, 165, kPcie4x8},
    {"RTX 4070", 5888, 2.475, 504, 12, 200, kPcie4},
    {"RTX 4070 Ti", 7680, 2.61, 504, 12, 285, kPcie4},
    {"RTX 4070 Ti SUPER", 8448, 2.61, 672, 16, 285, kPcie4},
    {"RTX 4080", 9728, 2.505, 717, 16, 320, kPcie4},
    {"RTX 4080 SUPER", 10240, 2.55, 736, 16, 320, kPcie4},
    {"RTX 4090", 16384, 2.52, 1008, 24, 450, kPcie4},
    {"RTX 5070", 6144, 2.512, 672, 12, 250, kPcie5},
    {"RTX 5070 Ti", 8960, 2.452, 896, 16, 300, kPcie5},
    {"RTX 5080", 10752, 2.617, 960, 16, 360, kPcie5},
    {"RTX 5090", 21760, 2.407, 1792, 32, 575, kPcie5},
};

constexpr const char* kAmpereSheet = "NVIDIA's data sheet, dense";
constexpr const char* kHalved = "NVIDIA's data sheet; its figures with sparsity, halved";
constexpr const char* kProfessional =
    "NVIDIA's specification: CUDA cores by boost clock, 8 FLOPs a clock (dense, fp32 accumulate)";
constexpr const char* kNoBf16 =
    "NVIDIA's data sheet; no bf16 units, so bf16 is taken at the fp32 rate: use --dtype f16";
constexpr const char* kAmd = "AMD's data sheet, dense matrix rate";

const Sheet kSheets[] = {
    {"A10", 125, {}, {}, 600, 24, 150, kPcie4, kAmpereSheet, 250, 500},
    {"A40", 149.7, {}, {}, 696, 48, 300, kPcie4, kAmpereSheet, 299.3, 598.7},
    {"RTX A6000", 154.8, {}, {}, 768, 48, 300, kPcie4, kProfessional, 309.7, 619.3},
    {"A100 80GB SXM", 312, {}, {}, 2039, 80, 400, kPcie4, kAmpereSheet, 624, 1248},
    {"A100 80GB PCIe", 312, {}, {}, 1935, 80, 300, kPcie4, kAmpereSheet, 624, 1248},
    {"A100 40GB SXM", 312, {}, {}, 1555, 40, 400, kPcie4, kAmpereSheet, 624, 1248},
    {"A100 40GB PCIe", 312, {}, {}, 1555, 40, 250, kPcie4, kAmpereSheet, 624, 1248},
    {"H100 SXM", 989, 1979, {}, 3350, 80, 700, kPcie5, kHalved, 1979},
    {"H100 PCIe", 756, 1513, {}, 2000, 80, 350, kPcie5, kHalved, 1513},
    {"H100 NVL", 835, 1671, {}, 3900, 94, 400, kPcie5, kHalved, 1671},
    {"H200 SXM", 989, 1979, {}, 4800, 141, 700, kPcie5, kHalved, 1979},
    {"H20", 148, 296, {}, 4000, 96, 400, kPcie5, kHalved, 296},
    {"B200", 2250, 4500, {}, 8000, 180, 1000, kPcie5, kHalved, 4500, 9000},
    {"L4", 121, 242, {}, 300, 24, 72, kPcie4, kHalved, 242},
    {"L20", 119.5, 239, {}, 864, 48, 275, kPcie4, kHalved, 239},
    {"L40S", 362, 733, {}, 864, 48, 350, kPcie4, kHalved, 733},
    {"RTX 6000 Ada", 364.2, 728.5, {}, 960, 48, 300, kPcie4, kProfessional, 728.5, 1457},
    {"RTX PRO 6000 Blackwell",
     503.8,
     1007.6,
     {},
     1792,
     96,
     600,
     kPcie5,
     kProfessional,
     1007.6,
     2015.2},
    {"V100 32GB SXM", 15.7, {}, 125, 900, 32, 300, kPcie3, kNoBf16},
    {"V100 16GB SXM", 15.7, {}, 125, 900, 16, 300, kPcie3, kNoBf16},
    {"V100 32GB PCIe", 14, {}, 112, 900, 32, 250, kPcie3, kNoBf16},
    {"T4", 8.1, {}, 65, 320, 16, 70, kPcie3, kNoBf16},
    {"MI210", 181, {}, {}, 1638, 64, 300, kPcie4, kAmd},
    {"MI250X",
     191.5,
     {},
     {},
     1638,
     64,
     280,
     kPcie4,
     "AMD's data sheet, halved: each of its two dies is a device of its own"},
    {"MI300X", 1307, 2615, {}, 5300, 192, 750, kPcie5, kAmd, 2615},
    {"MI325X", 1307, 2615, {}, 6000, 256, 1000, kPcie5, kAmd, 2615},
    {"RX 7900 XTX",
     122.8,
     {},
     {},
     960,
     24,
     355,
     kPcie4,
     "AMD's specification: 96 compute units at 2.5 GHz boost, 512 FLOPs a clock"},
    {"RX 9070 XT",
     194.6,
     389.3,
     {},
     640,
     16,
     304,
     kPcie5,
     "AMD's specification: 64 compute units at 2.97 GHz boost, 1024 FLOPs a clock (dense)"},
};

}  // namespace

const std::vector<Hardware>& hardware_table() {
  static const std::vector<Hardware> all = [] {
    std::vector<Hardware> rows;
    for (const Card& card : kAmpere) rows.push_back(geforce(card, false));
    for (const Card& card : kAdaAndBlackwell) rows.push_back(geforce(card, true));
    for (const Sheet& sheet : kSheets) rows.push_back(from_sheet(sheet));
    return rows;
  }();
  return all;
}

}  // namespace genscope
