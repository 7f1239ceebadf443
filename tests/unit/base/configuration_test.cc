#include "runtime/base/configuration.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(ConfigurationTest, GivesTheDefaultOfWhatWasNotSet) {
  const Configuration settings;
  EXPECT_EQ(*settings.integer(config::kTaskSlots), 1);
  EXPECT_EQ(*settings.duration(config::kBufferTimeout), 100ms);
  EXPECT_EQ(*settings.bytes(config::kNetworkMemory), 128ull << 20);
  EXPECT_FALSE(*settings.boolean(config::kChannelHash));
}

TEST(ConfigurationTest, EverySettingHasANameOfItsOwnAMeaningAndADefaultThatIsAllowed) {
  const Configuration settings;
  ASSERT_GT(config_keys().size(), 20u);
  std::string_view before;
  for (const ConfigKey* key : config_keys()) {
    EXPECT_LT(before, key->name);
    before = key->name;
    EXPECT_FALSE(key->meaning.empty()) << key->name;
    EXPECT_TRUE(settings.check(*key).ok()) << settings.check(*key).to_string();
  }
}

TEST(ConfigurationTest, KeepsNumbersToTheirRange) {
  const auto answer = [](const ConfigKey& key, const std::string& value) {
    Configuration settings;
    EXPECT_TRUE(settings.set(std::string(key.name), value).ok());
    return settings.check(key).message();
  };
  EXPECT_EQ(answer(config::kRpcPort, "65535"), "");
  EXPECT_EQ(answer(config::kRpcPort, "65536"),
            "jobmanager.rpc.port: '65536' is not a whole number from 0 to 65535");
  EXPECT_EQ(answer(config::kExponentialJitter, "1"), "");
  EXPECT_EQ(answer(config::kExponentialJitter, "1.1"),
            "restart-strategy.exponential-delay.jitter-factor: '1.1' is not a number from 0 to 1");
  EXPECT_EQ(answer(config::kNetworkMemory, "1 mb"), "");
  EXPECT_EQ(answer(config::kNetworkMemory, "1023 kb"),
            "taskmanager.memory.network.size: '1023 kb' is not a size from 1 mb to 1024 gb");
  EXPECT_EQ(answer(config::kNetworkMemory, "1025 gb"),
            "taskmanager.memory.network.size: '1025 gb' is not a size from 1 mb to 1024 gb");
  EXPECT_EQ(answer(config::kNetworkMemory, "-1"),
            "taskmanager.memory.network.size: '-1' is not a size such as 64 mb");
  EXPECT_EQ(answer(config::kNetworkMemory, "18446744073709551615 gb"),
            "taskmanager.memory.network.size: '18446744073709551615 gb' is not a size such as 64 "
            "mb");
  EXPECT_EQ(answer(config::kGateBudget, "63 kb"),
            "taskmanager.network.memory.gate-budget: '63 kb' is not a size from 64 kb to 1024 gb");
  EXPECT_EQ(answer(config::kSplitBytes, "0"),
            "source.file.split-size: '0' is not a size from 1 b to 1048576 gb");
  EXPECT_EQ(answer(config::kChannelHash, "yes"),
            "execution.channel-hash.enabled: 'yes' is not true or false");
  EXPECT_EQ(answer(config::kRestartStrategy, "fixed-delay"), "");
  for (const std::string word : {"", "fixed", "none|fixed-delay"}) {
    EXPECT_EQ(answer(config::kRestartStrategy, word),
              "restart-strategy.type: '" + word +
                  "' is not none, fixed-delay, failure-rate or exponential-delay");
  }
}

TEST(ConfigurationTest, ChecksAllThatWasSet) {
  Configuration settings;
  ASSERT_TRUE(settings.set_pair("heartbeat.interval=1 s").ok());
  EXPECT_TRUE(settings.check_all().ok());
  ASSERT_TRUE(settings.set_pair("heartbeat.timeout=soon").ok());
  EXPECT_NE(settings.check_all().message().find("heartbeat.timeout"), std::string::npos);
}

TEST(ConfigurationTest, NamesTheNearestKeyWhenOneIsUnknown) {
  Configuration settings;
  const Status status = settings.set("taskmanager.numberOfTaskSlot", "2");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("did you mean 'taskmanager.numberOfTaskSlots'"),
            std::string::npos)
      << status.message();
}

TEST(ConfigurationTest, SaysThatThereAreNoCheckpoints) {
  Configuration settings;
  for (const std::string name : {"execution.checkpointing.interval", "execution.checkpointing.mode",
                                 "state.checkpoints.dir"}) {
    const std::string message = settings.set(name, "10 s").message();
    EXPECT_TRUE(message.starts_with(name + ": there are no checkpoints")) << message;
  }
}

TEST(ConfigurationTest, SuggestsNothingWhenNothingIsNearButNamesAll) {
  Configuration settings;
  for (const std::string name : {"foo", "port", "", "bar.baz"}) {
    const std::string message = settings.set(name, "1").message();
    EXPECT_NE(message.find("no setting is called '" + name + "'"), std::string::npos) << message;
    EXPECT_EQ(message.find("did you mean"), std::string::npos) << message;
    for (const ConfigKey* key : config_keys()) {
      EXPECT_NE(message.find(key->name), std::string::npos) << message;
    }
  }
}

TEST(ConfigurationTest, NamesKeyValueAndRangeOfABadValue) {
  Configuration settings;
  ASSERT_TRUE(settings.set_pair("taskmanager.numberOfTaskSlots=0").ok());
  const Status status = settings.integer(config::kTaskSlots).status();
  EXPECT_EQ(status.message(),
            "taskmanager.numberOfTaskSlots: '0' is not a whole number from 1 to 65536");
}

TEST(ConfigurationTest, ReadsSizesInBinaryUnits) {
  Configuration settings;
  for (const auto& [text, bytes] : {std::pair<std::string, uint64_t>{"512", 512},
                                    {"2kb", 2048},
                                    {"3 MB", 3u << 20},
                                    {"4  kb ", 4u << 10},
                                    {"1g", 1u << 30}}) {
    ASSERT_TRUE(settings.set("source.file.split-size", text).ok());
    EXPECT_EQ(*settings.bytes(config::kSplitBytes), bytes) << text;
  }
  using namespace std::string_literals;
  for (const std::string& text :
       {""s, "kb"s, "-1"s, "1 tb"s, "99999999999g"s, "1 k b"s, "1\tkb"s, "1kb\0"s, "1\0kb"s}) {
    ASSERT_TRUE(settings.set("source.file.split-size", text).ok());
    EXPECT_FALSE(settings.bytes(config::kSplitBytes).ok()) << text;
  }
}

TEST(ConfigurationTest, SaysLittleAboutVeryLongTexts) {
  Configuration settings;
  const std::string many(1u << 20, 'a');
  EXPECT_EQ(settings.set(many, "1").message(),
            "no setting is called '" + many.substr(0, 256) + "...'");
  EXPECT_LT(settings.set_pair(many).message().size(), 400u);
  for (const ConfigKey* key : config_keys()) {
    if (key->allowed.kind == ConfigKind::kText) continue;
    ASSERT_TRUE(settings.set(std::string(key->name), many).ok());
    EXPECT_LT(settings.check(*key).message().size(), 600u) << key->name;
  }
}

TEST(ConfigurationTest, ReadsNumbersAsTheyStandAndNothingElse) {
  using namespace std::string_literals;
  Configuration settings;
  const std::string name(config::kExponentialMultiplier.name);
  for (const std::string& text : {"2.5"s, "25e-1"s}) {
    ASSERT_TRUE(settings.set(name, text).ok());
    EXPECT_EQ(*settings.real(config::kExponentialMultiplier), 2.5) << text;
  }
  for (const std::string& text : {""s, " 2"s, "2 "s, "0x2"s, "2\0"s, "\n2"s, "nan"s, "inf"s}) {
    ASSERT_TRUE(settings.set(name, text).ok());
    EXPECT_FALSE(settings.real(config::kExponentialMultiplier).ok()) << text;
  }
}

TEST(ConfigurationTest, RefusesAPairWithoutEqualsSign) {
  Configuration settings;
  EXPECT_EQ(settings.set_pair("bind-host").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(settings.set_pair("=x").code(), StatusCode::kInvalidArgument);
}

TEST(ConfigurationTest, ReadsPortsAndRangesOfThem) {
  Configuration configuration;
  EXPECT_EQ(*configuration.ports(config::kPrometheusPort), std::nullopt);
  const std::string name(config::kPrometheusPort.name);
  for (const auto& [text, range] :
       {std::pair{"0", PortRange{0, 0}}, std::pair{"9249", PortRange{9249, 9249}},
        std::pair{"9249-9349", PortRange{9249, 9349}},
        std::pair{"65535-65535", PortRange{65535, 65535}}}) {
    ASSERT_TRUE(configuration.set(name, text).ok());
    EXPECT_EQ(*configuration.ports(config::kPrometheusPort), range) << text;
  }
  for (const char* bad : {"x", "-1", "9249-", "-9249", "9349-9249", "0-10", "0-0", "65536",
                          "9249-65536", "9249,9250", "9249 ", "1-2-3"}) {
    ASSERT_TRUE(configuration.set(name, bad).ok());
    EXPECT_FALSE(configuration.check(config::kPrometheusPort).ok()) << bad;
  }
}

}  // namespace
}  // namespace freshet
