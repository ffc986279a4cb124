#include "inspect/read/dtype.h"

#include <algorithm>
#include <array>

namespace genscope {
namespace {

using inspect::Block;

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  Block block;
};

// In the order of the enumeration.
constexpr std::array kRows{
    DtypeRow{Dtype::unknown, "unknown", {1, 0}},
    DtypeRow{Dtype::f64, "f64", {1, 8}},
    DtypeRow{Dtype::f32, "f32", {1, 4}},
    DtypeRow{Dtype::f16, "f16", {1, 2}},
    DtypeRow{Dtype::bf16, "bf16", {1, 2}},
    DtypeRow{Dtype::f8_e4m3, "f8_e4m3", {1, 1}},
    DtypeRow{Dtype::f8_e5m2, "f8_e5m2", {1, 1}},
    DtypeRow{Dtype::f8_e4m3fnuz, "f8_e4m3fnuz", {1, 1}},
    DtypeRow{Dtype::f8_e5m2fnuz, "f8_e5m2fnuz", {1, 1}},
    DtypeRow{Dtype::f8_e8m0, "f8_e8m0", {1, 1}},
    DtypeRow{Dtype::f6_e2m3, "f6_e2m3", {4, 3}},
    DtypeRow{Dtype::f6_e3m2, "f6_e3m2", {4, 3}},
    DtypeRow{Dtype::f4, "f4", {2, 1}},
    DtypeRow{Dtype::i64, "i64", {1, 8}},
    DtypeRow{Dtype::i32, "i32", {1, 4}},
    DtypeRow{Dtype::i16, "i16", {1, 2}},
    DtypeRow{Dtype::i8, "i8", {1, 1}},
    DtypeRow{Dtype::u64, "u64", {1, 8}},
    DtypeRow{Dtype::u32, "u32", {1, 4}},
    DtypeRow{Dtype::u16, "u16", {1, 2}},
    DtypeRow{Dtype::u8, "u8", {1, 1}},
    DtypeRow{Dtype::boolean, "bool", {1, 1}},
    DtypeRow{Dtype::c64, "c64", {1, 8}},
    DtypeRow{Dtype::c128, "c128", {1, 16}},
    DtypeRow{Dtype::q4_0, "q4_0", {32, 18}},
    DtypeRow{Dtype::q4_1, "q4_1", {32, 20}},
    DtypeRow{Dtype::q5_0, "q5_0", {32, 22}},
    DtypeRow{Dtype::q5_1, "q5_1", {32, 24}},
    DtypeRow{Dtype::q8_0, "q8_0", {32, 34}},
    DtypeRow{Dtype::q8_1, "q8_1", {32, 36}},
    DtypeRow{Dtype::q2_k, "q2_k", {256, 84}},
    DtypeRow{Dtype::q3_k, "q3_k", {256, 110}},
    DtypeRow{Dtype::q4_k, "q4_k", {256, 144}},
    DtypeRow{Dtype::q5_k, "q5_k", {256, 176}},
    DtypeRow{Dtype::q6_k, "q6_k", {256, 210}},
    DtypeRow{Dtype::q8_k, "q8_k", {256, 292}},
    DtypeRow{Dtype::iq1_s, "iq1_s", {256, 50}},
    DtypeRow{Dtype::iq1_m, "iq1_m", {256, 56}},
    DtypeRow{Dtype::iq2_xxs, "iq2_xxs", {256, 66}},
    DtypeRow{Dtype::iq2_xs, "iq2_xs", {256, 74}},
    DtypeRow{Dtype::iq2_s, "iq2_s", {256, 82}},
    DtypeRow{Dtype::iq3_xxs, "iq3_xxs", {256, 98}},
    DtypeRow{Dtype::iq3_s, "iq3_s", {256, 110}},
    DtypeRow{Dtype::iq4_nl, "iq4_nl", {32, 18}},
    DtypeRow{Dtype::iq4_xs, "iq4_xs", {256, 136}},
    DtypeRow{Dtype::tq1_0, "tq1_0", {256, 54}},
    DtypeRow{Dtype::tq2_0, "tq2_0", {256, 66}},
    DtypeRow{Dtype::mxfp4, "mxfp4", {32, 17}},
    DtypeRow{Dtype::nvfp4, "nvfp4", {64, 36}},
};
static_assert([] {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].dtype != static_cast<Dtype>(i)) return false;
  }
  return kRows.size() == static_cast<std::size_t>(Dtype::nvfp4) + 1;
}());

// Other words that users and frameworks have for the same types.
struct Alias {
  std::string_view name;
  Dtype dtype;
};
constexpr std::array kAliases{
    Alias{"fp64", Dtype::f64},
    Alias{"float64", Dtype::f64},
    Alias{"double", Dtype::f64},
    Alias{"fp32", Dtype::f32},
    Alias{"float32", Dtype::f32},
    Alias{"float", Dtype::f32},
    Alias{"fp16", Dtype::f16},
    Alias{"float16", Dtype::f16},
    Alias{"half", Dtype::f16},
    Alias{"bfloat16", Dtype::bf16},
    Alias{"fp8", Dtype::f8_e4m3},
    Alias{"f8", Dtype::f8_e4m3},
    Alias{"float8", Dtype::f8_e4m3},
    Alias{"fp8_e4m3", Dtype::f8_e4m3},
    Alias{"fp8_e4m3fn", Dtype::f8_e4m3},
    Alias{"f8_e4m3fn", Dtype::f8_e4m3},
    Alias{"float8_e4m3fn", Dtype::f8_e4m3},
    Alias{"fp8_e5m2", Dtype::f8_e5m2},
    Alias{"float8_e5m2", Dtype::f8_e5m2},
    Alias{"float8_e4m3fnuz", Dtype::f8_e4m3fnuz},
    Alias{"float8_e5m2fnuz", Dtype::f8_e5m2fnuz},
    Alias{"float8_e8m0fnu", Dtype::f8_e8m0},
    Alias{"fp4", Dtype::f4},
    Alias{"int64", Dtype::i64},
    Alias{"int32", Dtype::i32},
    Alias{"int16", Dtype::i16},
    Alias{"int8", Dtype::i8},
    Alias{"uint64", Dtype::u64},
    Alias{"uint32", Dtype::u32},
    Alias{"uint16", Dtype::u16},
    Alias{"uint8", Dtype::u8},
    Alias{"boolean", Dtype::boolean},
    Alias{"complex64", Dtype::c64},
    Alias{"complex128", Dtype::c128},
};

// Case aside, and with '-' for '_'.
bool same_word(std::string_view typed, std::string_view name) noexcept {
  return std::ranges::equal(typed, name, [](char a, char b) {
    if (a >= 'A' && a <= 'Z') a = static_cast<char>(a - 'A' + 'a');
    return (a == '-' ? '_' : a) == b;
  });
}

}  // namespace

std::string_view name(Dtype dtype) noexcept {
  const auto i = static_cast<std::size_t>(dtype);
  return kRows[i < kRows.size() ? i : 0].name;
}

double bits_per_element(Dtype dtype) noexcept {
  const Block block = inspect::block_of(dtype);
  return 8.0 * block.bytes / block.elements;
}

std::optional<Dtype> find_dtype(std::string_view name) noexcept {
  for (const DtypeRow& row : kRows) {
    if (row.dtype != Dtype::unknown && same_word(name, row.name)) return row.dtype;
  }
  for (const Alias& alias : kAliases) {
    if (same_word(name, alias.name)) return alias.dtype;
  }
  return std::nullopt;
}

namespace inspect {

Block block_of(Dtype dtype) noexcept {
  const auto i = static_cast<std::size_t>(dtype);
  return kRows[i < kRows.size() ? i : 0].block;
}

std::optional<std::uint64_t> stored_bytes(Dtype dtype, std::uint64_t elements) noexcept {
  const Block block = block_of(dtype);
  if (block.bytes == 0) return std::nullopt;
  const std::uint64_t blocks = elements / block.elements + (elements % block.elements != 0 ? 1 : 0);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(blocks, std::uint64_t{block.bytes}, &bytes)) return std::nullopt;
  return bytes;
}

Dtype safetensors_dtype(std::string_view name) noexcept {
  constexpr std::array kNames{
      Alias{"BF16", Dtype::bf16},
      Alias{"F16", Dtype::f16},
      Alias{"F32", Dtype::f32},
      Alias{"F8_E4M3", Dtype::f8_e4m3},
      Alias{"F8_E5M2", Dtype::f8_e5m2},
      Alias{"U8", Dtype::u8},
      Alias{"I8", Dtype::i8},
      Alias{"F64", Dtype::f64},
      Alias{"I64", Dtype::i64},
      Alias{"I32", Dtype::i32},
      Alias{"I16", Dtype::i16},
      Alias{"U64", Dtype::u64},
      Alias{"U32", Dtype::u32},
      Alias{"U16", Dtype::u16},
      Alias{"BOOL", Dtype::boolean},
      Alias{"F8_E8M0", Dtype::f8_e8m0},
      Alias{"F8_E4M3FNUZ", Dtype::f8_e4m3fnuz},
      Alias{"F8_E5M2FNUZ", Dtype::f8_e5m2fnuz},
      Alias{"F6_E2M3", Dtype::f6_e2m3},
      Alias{"F6_E3M2", Dtype::f6_e3m2},
      Alias{"F4", Dtype::f4},
      Alias{"C64", Dtype::c64},
      Alias{"C128", Dtype::c128},
  };
  for (const Alias& row : kNames) {
    if (row.name == name) return row.dtype;
  }
  return Dtype::unknown;
}

}  // namespace inspect
}  // namespace genscope
