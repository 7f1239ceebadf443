#include "jobmanager/encoded_fields.h"

#include <cstdint>
#include <utility>

namespace freshet {

namespace {

void append_varint(uint64_t number, std::string& to) {
  for (; number >= 0x80; number >>= 7) to.push_back(static_cast<char>(number | 0x80));
  to.push_back(static_cast<char>(number));
}

std::string head(int number, size_t size) {
  constexpr uint64_t kLengthDelimited = 2;
  std::string bytes;
  append_varint(static_cast<uint64_t>(number) << 3 | kLengthDelimited, bytes);
  append_varint(size, bytes);
  return bytes;
}

}  // namespace

void EncodedFields::add(int number, std::string_view bytes, std::string more) {
  std::string own = head(number, bytes.size() + more.size());
  parts_.push_back({std::move(own), bytes, std::move(more)});
}

void EncodedFields::add_all_of(std::string fields) {
  parts_.push_back({std::move(fields), {}, {}});
}

std::string EncodedFields::enclosed(int number) const {
  size_t size = 0;
  for (const Part& part : parts_) size += part.owned.size() + part.bytes.size() + part.more.size();
  std::string message = head(number, size);
  message.reserve(message.size() + size);
  for (const Part& part : parts_) message.append(part.owned).append(part.bytes).append(part.more);
  return message;
}

}  // namespace freshet
