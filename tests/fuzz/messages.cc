#include "tests/fuzz/messages.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <cstring>

#include "network/message_channel.h"
#include "runtime/base/check.h"

namespace freshet::fuzz {

namespace {

class Ignored final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

}  // namespace

std::string as_line(const proto::Envelope& envelope) { return envelope.ShortDebugString() + "\n"; }

std::optional<proto::Envelope> from_line(std::string_view line) {
  Ignored errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(20);
  proto::Envelope envelope;
  if (!parser.ParseFromString(std::string(line), &envelope)) return std::nullopt;
  return envelope;
}

std::string on_the_wire(const std::string& payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string bytes(sizeof kControlMagic + sizeof size, '\0');
  std::memcpy(bytes.data(), &kControlMagic, sizeof kControlMagic);
  std::memcpy(bytes.data() + sizeof kControlMagic, &size, sizeof size);
  return bytes + payload;
}

std::vector<proto::Envelope> off_the_wire(std::string_view stream) {
  std::vector<proto::Envelope> messages;
  while (!stream.empty()) {
    uint32_t words[2];
    CHECK(stream.size() >= sizeof words);
    std::memcpy(words, stream.data(), sizeof words);
    stream.remove_prefix(sizeof words);
    CHECK(words[0] == kControlMagic && words[1] <= stream.size());
    CHECK(messages.emplace_back().ParseFromString(std::string(stream.substr(0, words[1]))));
    CHECK(messages.back().message_case() != proto::Envelope::MESSAGE_NOT_SET);
    stream.remove_prefix(words[1]);
  }
  return messages;
}

}  // namespace freshet::fuzz
