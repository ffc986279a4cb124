// Five byte columns and a bit stream, in one pass over the words each way.
//
// Why columns: ops and names of a loop repeat with its period and compress to almost nothing, once
// times do not stand between them. Times do not compress, so their deltas are cut to their length:
// a byte for the number of bits, which zstd does shorten, and the bits below the leading one, raw.
// An end names no span: its tag is that of the innermost open one in nearly every record, and both
// sides keep the same stack, so only the exceptions carry a tag (kExplicitTag).
//
// Why unpack(pack(words)) == words for all words, sense or not: what the columns cannot hold
// exactly (an unknown op, a payload that the chunk cuts off, bits set where an op has none) goes as
// a raw word, and both sides move base, stack and last values by the same rules on the same
// records. A raw word moves nothing. The stack forgets its older half at kMaxDepth on both sides
// alike.
//
// Both ways are linear in the words and bounded by them: a column of more than ten bytes for each
// word is refused before anything is allocated for it. About 5 bytes a span come out
// (docs/overhead.md).
#include "trace/pack.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "trace/bits.h"

namespace genscope::trace {
namespace {

using internal::field_of;
using internal::has_tick;
using internal::low_of;
using internal::make_word;
using internal::Op;
using internal::op_of;
using internal::payload_words;
using internal::tag_of;

// An op byte is the op, or one of these.
constexpr std::uint8_t kExplicitTag = 0x10;  // | end: the tag is not the one on top of the stack
constexpr std::uint8_t kRawWord = 0x20;      // the word stands in the payload column as it is
// A bit-length byte: 0..40, or that | kNegative for a step back.
constexpr std::uint8_t kNegative = 0x40;

// Both sides keep this state; it is what the deltas are against.
struct Context {
  std::uint64_t tick = 0;  // low of the last tick
  std::array<std::uint64_t, 64> last_value{};
  std::uint64_t& value_of(std::uint32_t key) { return last_value[key & 63]; }
};

bool is_end(Op op) noexcept { return op == Op::end || op == Op::end_failed; }

// Ops whose field is a number that varies; the others leave it 0.
bool has_field(Op op) noexcept {
  return op != Op::attach && op != Op::rebase && op != Op::pad && !is_end(op);
}

// Whether the columns can hold this record exactly; if not, it goes as raw words.
bool regular(std::uint64_t word, std::uint64_t left) noexcept {
  const Op op = op_of(word);
  if (op == Op::pad || static_cast<unsigned>(op) > static_cast<unsigned>(Op::meta)) return false;
  if (payload_words(word) > left) return false;
  if ((op == Op::attach || op == Op::rebase) && field_of(word) != 0) return false;
  return op != Op::rebase || low_of(word) == 0;
}

// Tracks base and stack through the records; what advance() and pack() share.
struct Walker {
  ChunkBase base;
  OpenSpans& open;
  void see(std::uint64_t word, std::uint64_t payload, std::size_t index) {
    switch (op_of(word)) {
      case Op::begin:
        open.push(base.first_id + index, base.base_tick + low_of(word), field_of(word));
        break;
      case Op::end:
      case Op::end_failed:
        open.pop(field_of(word));
        break;
      case Op::rebase:
        base.base_tick = payload;
        break;
      default:
        break;
    }
  }
};

}  // namespace

void advance(std::span<const std::uint64_t> words, const ChunkBase& base, OpenSpans& open) {
  Walker walker{base, open};
  for (std::size_t i = 0; i < words.size(); ++i) {
    // A span without children: nothing would be left of it.
    if (op_of(words[i]) == Op::begin && i + 1 < words.size() && is_end(op_of(words[i + 1])) &&
        field_of(words[i + 1]) == tag_of(base.first_id + i)) {
      i++;
      continue;
    }
    const std::uint64_t n = payload_words(words[i]);
    if (!regular(words[i], words.size() - i - 1)) continue;
    walker.see(words[i], n > 0 ? words[i + 1] : 0, i);
    i += n;
  }
}

struct Packer::Scratch {
  std::vector<std::byte> ops, lengths, bits, fields, values, payload, joined;
  ZSTD_CCtx* zstd = nullptr;
  ~Scratch() { ZSTD_freeCCtx(zstd); }
};

Packer::Packer() : scratch_(std::make_unique<Scratch>()) {}
Packer::~Packer() = default;

void Packer::pack(std::span<const std::uint64_t> words, const ChunkBase& base, OpenSpans& open,
                  std::vector<std::byte>& out) {
  Scratch& s = *scratch_;
  for (auto* column : {&s.ops, &s.lengths, &s.bits, &s.fields, &s.values, &s.payload, &s.joined}) {
    column->clear();
  }
  Context context;
  Walker walker{base, open};
  BitWriter bits(s.bits);
  const auto put_payload = [&](std::uint64_t w) {
    const auto* p = reinterpret_cast<const std::byte*>(&w);
    s.payload.insert(s.payload.end(), p, p + 8);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t word = words[i];
    const Op op = op_of(word);
    if (!regular(word, words.size() - i - 1)) {
      s.ops.push_back(std::byte{kRawWord});
      put_payload(word);
      continue;
    }
    std::uint8_t code = static_cast<std::uint8_t>(op);
    if (is_end(op)) {
      if (!open.top_is(field_of(word))) {
        code |= kExplicitTag;
        put_varint(s.fields, field_of(word));
      }
    } else if (has_field(op)) {
      put_varint(s.fields, field_of(word));
    }
    s.ops.push_back(std::byte{code});
    if (has_tick(op)) {
      const std::uint64_t low = low_of(word);
      const bool back = low < context.tick;
      const std::uint64_t delta = back ? context.tick - low : low - context.tick;
      const auto length = static_cast<unsigned>(std::bit_width(delta));
      s.lengths.push_back(static_cast<std::byte>(length | (back ? kNegative : 0u)));
      if (length > 1) bits.put(delta & ~(std::uint64_t{1} << (length - 1)), length - 1);
      context.tick = low;
    } else if (op == Op::arg) {
      std::uint64_t& last = context.value_of(field_of(word));
      put_varint(s.values, zigzag(static_cast<std::int64_t>(low_of(word) - last)));
      last = low_of(word);
    } else if (op != Op::rebase) {
      put_varint(s.values, low_of(word));
    } else {
      context.tick = 0;
    }
    const std::uint64_t n = payload_words(word);
    for (std::uint64_t k = 1; k <= n; ++k) put_payload(words[i + k]);
    walker.see(word, n > 0 ? words[i + 1] : 0, i);
    i += n;
  }
  bits.finish();

  for (const auto* column : {&s.ops, &s.lengths, &s.fields, &s.values, &s.payload}) {
    put_varint(out, column->size());
    s.joined.insert(s.joined.end(), column->begin(), column->end());
  }
  put_varint(out, s.bits.size());
  const std::size_t at = out.size();
  out.resize(at + ZSTD_compressBound(s.joined.size()));
  if (s.zstd == nullptr) s.zstd = ZSTD_createCCtx();
  if (s.zstd == nullptr) throw std::bad_alloc();
  const std::size_t n = ZSTD_compressCCtx(s.zstd, out.data() + at, out.size() - at, s.joined.data(),
                                          s.joined.size(), 1);
  // The destination has the bound's size, so memory is all that can be missing.
  if (ZSTD_isError(n) != 0) throw std::bad_alloc();
  out.resize(at + n);
  out.insert(out.end(), s.bits.begin(), s.bits.end());
}

namespace {

// The tags of OpenSpans, all that unpacking needs of it; forgets as that does.
class TagStack {
 public:
  void assign(std::span<const OpenSpan> open) {
    open = open.first(std::min(open.size(), OpenSpans::kMaxDepth));
    tags_.resize(OpenSpans::kMaxDepth);
    size_ = 0;
    for (const OpenSpan& span : open) tags_[size_++] = tag_of(span.id);
  }
  void push(std::uint32_t tag) {
    if (size_ == OpenSpans::kMaxDepth) [[unlikely]] {
      std::move(tags_.begin() + OpenSpans::kMaxDepth / 2, tags_.end(), tags_.begin());
      size_ -= OpenSpans::kMaxDepth / 2;
    }
    tags_[size_++] = tag;
  }
  // The top, which it removes; 0 if there is none.
  std::uint32_t pop() noexcept { return size_ > 0 ? tags_[--size_] : 0; }
  void remove(std::uint32_t tag) noexcept {
    for (std::size_t i = size_; i-- > 0;) {
      if (tags_[i] != tag) continue;
      std::move(tags_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                tags_.begin() + static_cast<std::ptrdiff_t>(size_),
                tags_.begin() + static_cast<std::ptrdiff_t>(i));
      size_--;
      return;
    }
  }

 private:
  std::vector<std::uint32_t> tags_;
  std::size_t size_ = 0;
};

Error bad(const char* what) { return {ErrorCode::bad_data, std::string("packed chunk: ") + what}; }

}  // namespace

struct Unpacker::Scratch {
  std::vector<std::byte> joined;
  std::vector<std::uint64_t> words;
  TagStack open;
  ZSTD_DCtx* zstd = nullptr;
  ~Scratch() { ZSTD_freeDCtx(zstd); }
};

Unpacker::Unpacker() : scratch_(std::make_unique<Scratch>()) {}
Unpacker::~Unpacker() = default;

std::span<const std::uint64_t> Unpacker::copy(std::span<const std::byte> raw) {
  scratch_->words.resize(raw.size() / 8);
  if (!scratch_->words.empty()) {
    std::memcpy(scratch_->words.data(), raw.data(), raw.size() / 8 * 8);
  }
  return scratch_->words;
}

// The columns of one packed chunk, and what their deltas are against.
struct Unpacker::Columns {
  ByteReader ops, lengths, fields, values, payload;
  BitReader bits;
  Context context;

  bool overrun() const noexcept {
    return ops.overrun() || lengths.overrun() || fields.overrun() || values.overrun() ||
           payload.overrun() || bits.overrun();
  }
  // The next tick; more than 40 bits if it is malformed.
  std::uint64_t tick() {
    const std::uint8_t length = lengths.byte();
    const unsigned count = length & 0x3Fu;
    if (count > 40) [[unlikely]]
      return ~std::uint64_t{0};
    const std::uint64_t delta =
        count == 0 ? 0 : std::uint64_t{1} << (count - 1) | bits.get(count - 1);
    context.tick += (length & kNegative) != 0 ? ~delta + 1 : delta;
    return context.tick;
  }
};

Result<std::span<const std::uint64_t>> Unpacker::unpack(std::span<const std::byte> packed,
                                                        std::size_t word_count,
                                                        std::uint64_t first_id,
                                                        std::span<const OpenSpan> open) {
  Scratch& s = *scratch_;
  ByteReader head(packed);
  std::array<std::size_t, 5> sizes{};
  std::size_t total = 0;
  for (std::size_t& size : sizes) {
    size = head.varint();
    if (size > word_count * 10 || head.overrun()) return bad("column size out of range");
    total += size;
  }
  const std::size_t bit_bytes = head.varint();
  if (head.overrun() || bit_bytes > head.left()) return bad("bit column out of range");
  const auto compressed = head.take(head.left() - bit_bytes);
  const auto bits = head.take(bit_bytes);
  s.joined.resize(total);
  if (s.zstd == nullptr) s.zstd = ZSTD_createDCtx();
  if (s.zstd == nullptr) throw std::bad_alloc();
  const std::size_t n =
      ZSTD_decompressDCtx(s.zstd, s.joined.data(), total, compressed.data(), compressed.size());
  if (ZSTD_isError(n) != 0 || n != total) return bad("compressed columns are damaged");
  std::span<const std::byte> rest(s.joined);
  const auto next = [&](std::size_t size) {
    ByteReader reader(rest.first(size));
    rest = rest.subspan(size);
    return reader;
  };
  ByteReader ops = next(sizes[0]), lengths = next(sizes[1]), fields = next(sizes[2]),
             values = next(sizes[3]), payload = next(sizes[4]);
  Columns columns{ops, lengths, fields, values, payload, BitReader(bits), {}};
  s.words.resize(word_count);
  s.open.assign(open);
  return decode(columns, first_id);
}

Result<std::span<const std::uint64_t>> Unpacker::decode(Columns& in, std::uint64_t first_id) {
  Scratch& s = *scratch_;
  std::uint64_t* const words = s.words.data();
  const std::size_t word_count = s.words.size();
  for (std::size_t i = 0; i < word_count;) {
    const std::uint8_t code = in.ops.byte();
    const Op op = static_cast<Op>(code & 15);
    // Nearly all records are these two.
    if (code == static_cast<std::uint8_t>(Op::begin)) {
      const std::uint64_t field = in.fields.varint();
      const std::uint64_t low = in.tick();
      if ((field >> 20 | low >> 40) != 0) return bad("value out of range");
      s.open.push(tag_of(first_id + i));
      words[i++] = make_word(Op::begin, static_cast<std::uint32_t>(field), low);
      continue;
    }
    if (code == static_cast<std::uint8_t>(Op::end)) {
      const std::uint64_t low = in.tick();
      if ((low >> 40) != 0) return bad("value out of range");
      words[i++] = make_word(Op::end, s.open.pop(), low);
      continue;
    }
    if (code == kRawWord) {
      words[i++] = in.payload.word();
      continue;
    }
    if (in.ops.overrun() || code > 0x1F || op == Op::pad) return bad("unknown op");
    std::uint64_t field = 0;
    if (is_end(op)) {
      if ((code & kExplicitTag) != 0) {
        field = in.fields.varint();
        s.open.remove(static_cast<std::uint32_t>(field));
      } else {
        field = s.open.pop();
      }
    } else if (has_field(op)) {
      field = in.fields.varint();
    }
    std::uint64_t low = 0;
    if (has_tick(op)) {
      low = in.tick();
    } else if (op == Op::arg) {
      std::uint64_t& last = in.context.value_of(static_cast<std::uint32_t>(field));
      low = last + static_cast<std::uint64_t>(unzigzag(in.values.varint()));
      last = low;
    } else if (op != Op::rebase) {
      low = in.values.varint();
    } else {
      in.context.tick = 0;
    }
    if (field > internal::kFieldMask || low > internal::kLowMask) return bad("value out of range");
    const std::uint64_t word = make_word(op, static_cast<std::uint32_t>(field), low);
    const std::uint64_t extra = payload_words(word);
    if (extra > word_count - i - 1) return bad("record longer than its chunk");
    words[i] = word;
    for (std::uint64_t k = 1; k <= extra; ++k) words[i + k] = in.payload.word();
    i += 1 + extra;
  }
  if (in.overrun()) return bad("a column ends too early");
  return std::span<const std::uint64_t>(s.words);
}

}  // namespace genscope::trace
