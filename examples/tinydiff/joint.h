// The joints of the pipeline, at which a fault may spoil it. See faults.h.
#pragma once

#include <functional>

#include "tensor.h"

namespace tinydiff {

enum class Joint {
  load,       // inside the load, after it; index 0
  text,       // inside the text stage
  step,       // a step has begun; index of the step
  forward,    // after a forward; index of the step
  scheduler,  // inside the scheduler's stage; index of the step
  decode,     // inside the decoder's stage; index of the picture
  save,       // after a picture was saved
  block,      // a block of a video is finished; its frames
  input,      // inside the stage that gets the data of a rank or a training batch
};

using Again = std::function<void()>;  // does the work of the joint once more
using Spoil = std::function<void(Joint joint, Index index, const Again& again)>;

}  // namespace tinydiff
