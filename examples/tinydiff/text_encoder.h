// Prompt -> token ids -> one vector per token. The first stage of the pipeline.
#pragma once

#include <string_view>
#include <vector>

#include "layers.h"

namespace tinydiff {

inline constexpr Index kTextTokens = 32;  // every prompt is padded or cut to this many
inline constexpr Index kTextWidth = 256;  // channels of an encoded token
inline constexpr int kVocabulary = 8192;  // hashed ids, below it the three special ones
inline constexpr int kPadToken = 0;
inline constexpr int kBeginToken = 1;
inline constexpr int kEndToken = 2;

// Begin, words and end. A word is a run of letters, digits and non-ASCII bytes, in lower case; one
// of more than six bytes becomes pieces of five. Each piece is hashed, so that any text in any
// language has ids without a vocabulary file. At most kTextTokens ids, the last always the end.
std::vector<int> tokenize(std::string_view prompt);

struct EncodedText {
  Tensor tokens;  // kTextTokens x kTextWidth
  Tensor pooled;  // 1 x kTextWidth: the mean of the tokens
};

class TextEncoder {
 public:
  explicit TextEncoder(WeightSource& source);
  // `ids` as tokenize() returns them; the rest is padding.
  EncodedText encode(Pool& pool, const std::vector<int>& ids) const;

 private:
  struct Layer {
    LayerNorm norm_attention;
    Linear query;
    Linear key;
    Linear value;
    Linear out;
    LayerNorm norm_mlp;
    Linear up;
    Linear down;

    explicit Layer(WeightSource& source);
  };

  Tensor embedding_;  // kVocabulary x kTextWidth
  Tensor positions_;  // kTextTokens x kTextWidth
  std::vector<Layer> layers_;
  LayerNorm norm_out_;
};

}  // namespace tinydiff
