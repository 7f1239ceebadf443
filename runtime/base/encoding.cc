#include "runtime/base/encoding.h"

#include <algorithm>

namespace freshet {

void Encoder::grow(size_t more) {
  const size_t used = static_cast<size_t>(cursor_ - begin_);
  const size_t wanted = std::max({used + more, used * 2, size_t{256}});
  if (overflow_size_ < wanted || begin_ == overflow_.get()) {
    auto larger = std::make_unique<char[]>(wanted);
    if (used != 0) std::memcpy(larger.get(), begin_, used);
    overflow_ = std::move(larger);
    overflow_size_ = wanted;
  } else if (used != 0) {
    std::memcpy(overflow_.get(), begin_, used);
  }
  begin_ = overflow_.get();
  cursor_ = begin_ + used;
  end_ = begin_ + overflow_size_;
}

void Decoder::read_any_text(std::string& to) { to = read_string(); }

void Decoder::fail(const char* why) { throw CodecError(why); }

}  // namespace freshet
