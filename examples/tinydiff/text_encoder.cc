#include "text_encoder.h"

#include <genscope/record.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "attention.h"

namespace tinydiff {
namespace {

constexpr int kSpecialTokens = 3;
constexpr Index kTextHeads = 4;
constexpr int kLayers = 4;

int hashed_id(std::string_view piece, bool continues_word) {
  std::uint64_t hash = continues_word ? 0x84222325cbf29ce4ULL : 0xcbf29ce484222325ULL;
  for (const char c : piece) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= hash >> 32;
  return kSpecialTokens + static_cast<int>(hash % (kVocabulary - kSpecialTokens));
}

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0;
}

}  // namespace

std::vector<int> tokenize(std::string_view prompt) {
  constexpr std::size_t kWholeWordBytes = 6;
  constexpr std::size_t kPieceBytes = 5;
  std::vector<int> ids{kBeginToken};
  std::size_t at = 0;
  while (at < prompt.size() && ids.size() + 1 < kTextTokens) {
    if (!is_word_byte(prompt[at])) {
      ++at;
      continue;
    }
    std::string word;
    for (; at < prompt.size() && is_word_byte(prompt[at]); ++at) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(prompt[at])));
    }
    const std::size_t piece = word.size() <= kWholeWordBytes ? kWholeWordBytes : kPieceBytes;
    for (std::size_t i = 0; i < word.size() && ids.size() + 1 < kTextTokens; i += piece) {
      ids.push_back(hashed_id(std::string_view(word).substr(i, piece), i > 0));
    }
  }
  ids.push_back(kEndToken);
  return ids;
}

TextEncoder::Layer::Layer(WeightSource& source)
    : norm_attention(source, kTextWidth),
      query(source, kTextWidth, kTextWidth, 1.5),
      key(source, kTextWidth, kTextWidth, 1.5),
      value(source, kTextWidth, kTextWidth),
      out(source, kTextWidth, kTextWidth),
      norm_mlp(source, kTextWidth),
      up(source, kTextWidth, 4 * kTextWidth),
      down(source, 4 * kTextWidth, kTextWidth) {}

TextEncoder::TextEncoder(WeightSource& source)
    : embedding_(source.matrix(kVocabulary, kTextWidth, 1.0)),
      positions_(source.matrix(kTextTokens, kTextWidth, 0.5)),
      norm_out_(source, kTextWidth) {
  for (int i = 0; i < kLayers; ++i) layers_.emplace_back(source);
}

EncodedText TextEncoder::encode(Pool& pool, const std::vector<int>& ids) const {
  Tensor x = positions_;
  for (Index i = 0; i < kTextTokens; ++i) {
    const auto at = static_cast<std::size_t>(i);
    x.row(i) += embedding_.row(at < ids.size() ? ids[at] : kPadToken);
  }
  for (const Layer& layer : layers_) {
    GENSCOPE_SPAN("text_layer");
    Tensor normed = layer_norm(pool, layer.norm_attention, x);
    const Tensor mixed =
        attention(pool, linear(pool, layer.query, normed), linear(pool, layer.key, normed),
                  linear(pool, layer.value, normed), 1, kTextHeads);
    add_gated(pool, x, nullptr, linear(pool, layer.out, mixed));
    normed = layer_norm(pool, layer.norm_mlp, x);
    Tensor hidden = linear(pool, layer.up, normed);
    gelu(pool, hidden);
    add_gated(pool, x, nullptr, linear(pool, layer.down, hidden));
  }
  EncodedText text{layer_norm(pool, norm_out_, x), Tensor::Zero(1, kTextWidth)};
  for (Index i = 0; i < kTextTokens; ++i) text.pooled += text.tokens.row(i);
  text.pooled /= static_cast<float>(kTextTokens);
  return text;
}

}  // namespace tinydiff
