#include "runtime/base/configuration.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(ConfigurationTest, GivesTheDefaultOfWhatWasNotSet) {
  const Configuration settings;
  EXPECT_EQ(*settings.integer(config::kTaskSlots, 1, 100), 1);
  EXPECT_EQ(*settings.duration(config::kBufferTimeout), 100ms);
  EXPECT_EQ(*settings.bytes(config::kNetworkMemory, 0, ~0ull), 64ull << 20);
  EXPECT_FALSE(*settings.boolean(config::kChannelHash));
}

TEST(ConfigurationTest, EveryDefaultParses) {
  const Configuration settings;
  for (const ConfigKey* key : config_keys()) EXPECT_FALSE(key->meaning.empty()) << key->name;
  for (const ConfigKey* key :
       {&config::kHeartbeatInterval, &config::kHeartbeatTimeout, &config::kSlotTimeout,
        &config::kFixedDelayDelay, &config::kExponentialInitial, &config::kExponentialMax,
        &config::kExponentialReset, &config::kCancellationTimeout}) {
    EXPECT_TRUE(settings.duration(*key).ok()) << key->name;
  }
}

TEST(ConfigurationTest, NamesTheNearestKeyWhenOneIsUnknown) {
  Configuration settings;
  const Status status = settings.set("taskmanager.numberOfTaskSlot", "2");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("did you mean 'taskmanager.numberOfTaskSlots'"),
            std::string::npos)
      << status.message();
}

TEST(ConfigurationTest, NamesKeyValueAndRangeOfABadValue) {
  Configuration settings;
  ASSERT_TRUE(settings.set_pair("taskmanager.numberOfTaskSlots=0").ok());
  const Status status = settings.integer(config::kTaskSlots, 1, 1024).status();
  EXPECT_EQ(status.message(),
            "taskmanager.numberOfTaskSlots: '0' is not a whole number from 1 to 1024");
}

TEST(ConfigurationTest, ReadsSizesInBinaryUnits) {
  Configuration settings;
  for (const auto& [text, bytes] : {std::pair<std::string, uint64_t>{"512", 512},
                                    {"2kb", 2048},
                                    {"3 MB", 3u << 20},
                                    {"1g", 1u << 30}}) {
    ASSERT_TRUE(settings.set("taskmanager.memory.segment-size", text).ok());
    EXPECT_EQ(*settings.bytes(config::kSegmentBytes, 0, ~0ull), bytes) << text;
  }
  for (const std::string text : {"", "kb", "-1", "1 tb", "99999999999g"}) {
    ASSERT_TRUE(settings.set("taskmanager.memory.segment-size", text).ok());
    EXPECT_FALSE(settings.bytes(config::kSegmentBytes, 0, ~0ull).ok()) << text;
  }
}

TEST(ConfigurationTest, RefusesAPairWithoutEqualsSign) {
  Configuration settings;
  EXPECT_EQ(settings.set_pair("bind-host").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(settings.set_pair("=x").code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace freshet
