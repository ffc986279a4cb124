// Packed chunks. First byte even: the rest is unpacked as it is. Odd: the rest is words, which must
// survive packing and unpacking, with a stack of open spans before them.
#include "check_trace.h"
#include "input.h"
#include "trace/pack.h"

namespace {

using namespace genscope;

std::vector<trace::OpenSpan> take_open(fuzz::Input& in) {
  std::vector<trace::OpenSpan> open(in.take<std::uint8_t>() % 8);
  for (trace::OpenSpan& o : open) o = {in.take<std::uint64_t>(), in.take<std::uint64_t>(), 1, 0};
  return open;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static trace::Packer packer;
  static trace::Unpacker unpacker;
  fuzz::Input in(data, size);
  const bool words_given = in.take<std::uint8_t>() % 2 != 0;
  const std::vector<trace::OpenSpan> open = take_open(in);
  const trace::ChunkBase base{in.take<std::uint64_t>() & internal::kIdMask,
                              in.take<std::uint64_t>()};
  if (!words_given) {
    const std::size_t count = in.take<std::uint16_t>() % 8193;
    const auto words = unpacker.unpack(in.bytes(in.left()), count, base.first_id, open);
    if (words.ok()) GENSCOPE_FUZZ_CHECK(words->size() == count);
    return 0;
  }
  std::vector<std::uint64_t> words(std::min<std::size_t>(in.left() / 8, 8192));
  for (std::uint64_t& w : words) w = in.take<std::uint64_t>();
  trace::OpenSpans stack, moved;
  for (const trace::OpenSpan& o : open) {
    stack.push(o.id, o.begin_tick, o.site);
    moved.push(o.id, o.begin_tick, o.site);
  }
  std::vector<std::byte> packed;
  packer.pack(words, base, stack, packed);
  const auto back = unpacker.unpack(packed, words.size(), base.first_id, open);
  GENSCOPE_FUZZ_CHECK(back.ok());
  GENSCOPE_FUZZ_CHECK(std::equal(back->begin(), back->end(), words.begin(), words.end()));
  trace::advance(words, base, moved);
  GENSCOPE_FUZZ_CHECK(stack.spans().size() == moved.spans().size());
  return 0;
}
