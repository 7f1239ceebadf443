#include "runtime/graph/text_rules.h"

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/base/random.h"
#include "runtime/graph/runtime_mode.h"
#include "runtime/proto/graph.pb.h"

namespace freshet {
namespace {

TEST(TextRulesTest, AcceptsExactlyWhatAMessageCanCarry) {
  const google::protobuf::LogSilencer silent;
  const auto random = make_seeded_random(3);
  const unsigned char interesting[] = {0x00, 0x41, 0x7F, 0x80, 0x9F, 0xA0, 0xBF,
                                       0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF,
                                       0xF0, 0xF1, 0xF4, 0xF5, 0xFF, 0x8F, 0x90};
  int plain = 0;
  for (int i = 0; i < 200'000; i++) {
    std::string text(random->below(5), '\0');
    for (char& c : text) c = static_cast<char>(interesting[random->below(sizeof(interesting))]);
    proto::EdgeProto message;
    // Field 7 (a string), written by hand: serialising bad text only logs.
    const std::string bytes = std::string("\x3a") + static_cast<char>(text.size()) + text;
    EXPECT_EQ(is_plain_text(text), message.ParseFromString(bytes));
    plain += is_plain_text(text) ? 1 : 0;
  }
  EXPECT_GT(plain, 1000);
}

TEST(TextRulesTest, BoundsTheLength) {
  EXPECT_TRUE(is_plain_text(std::string(kNameLengthMax, 'x')));
  EXPECT_FALSE(is_plain_text(std::string(kNameLengthMax + 1, 'x')));
}

TEST(RuntimeModeTest, ReadsItsOwnNamesOnly) {
  for (const auto mode : {RuntimeMode::kStreaming, RuntimeMode::kBatch, RuntimeMode::kAutomatic}) {
    EXPECT_EQ(*parse_runtime_mode(to_string(mode)), mode);
  }
  EXPECT_FALSE(parse_runtime_mode("Batch").ok());
  EXPECT_FALSE(parse_runtime_mode("").ok());
}

}  // namespace
}  // namespace freshet
