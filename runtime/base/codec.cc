#include "runtime/base/codec.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

namespace freshet::codec_detail {

namespace {

constexpr int kFingerprintDepthMax = 100;
thread_local int fingerprint_depth = 0;

}  // namespace

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* const readable = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  const std::string name = status == 0 ? readable : type.name();
  std::free(readable);
  return name;
}

FingerprintDepth::FingerprintDepth(const std::type_info& type) {
  if (fingerprint_depth == kFingerprintDepthMax) {
    throw CodecError("the type " + type_name(type) +
                     " contains itself: specialise freshet::Codec for it");
  }
  ++fingerprint_depth;
}

FingerprintDepth::~FingerprintDepth() { --fingerprint_depth; }

uint64_t read_entry_count(Decoder& decoder, uint32_t entry_bytes) {
  const uint64_t count = decoder.read_varint();
  const size_t bytes = decoder.remaining();
  if (count > bytes / std::max<uint32_t>(1, entry_bytes)) {
    throw CodecError("a container names " + std::to_string(count) +
                     " entries, more than fit into " + std::to_string(bytes) + " bytes");
  }
  return count;
}

void read_empty_entry(Decoder& decoder) {
  if (decoder.read_fixed<uint8_t>() != 0) throw CodecError("an entry without bytes is not 0");
}

void fail_flag(uint8_t byte) {
  throw CodecError("a byte that says yes or no is " + std::to_string(byte) + ", not 0 or 1");
}

void fail_alternative(uint64_t index, size_t alternatives) {
  throw CodecError("a variant names alternative " + std::to_string(index) + " of " +
                   std::to_string(alternatives));
}

}  // namespace freshet::codec_detail
