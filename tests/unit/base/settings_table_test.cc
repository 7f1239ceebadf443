#include "runtime/base/settings_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/file_system.h"

namespace freshet {
namespace {

TEST(SettingsTableTest, SaysInWordsWhatIsAllowed) {
  EXPECT_EQ(allowed_values(config::kTaskSlots), "a whole number from 1 to 65536");
  EXPECT_EQ(allowed_values(config::kNetworkMemory), "a size from 1 mb to 1024 gb");
  EXPECT_EQ(allowed_values(config::kExponentialJitter), "a number from 0 to 1");
  EXPECT_EQ(allowed_values(config::kUnixSockets), "true or false");
  EXPECT_EQ(allowed_values(config::kRestartStrategy),
            "none, fixed-delay, failure-rate or exponential-delay");
  EXPECT_EQ(allowed_values(config::kHeartbeatInterval), "a duration");
  EXPECT_EQ(allowed_values(config::kBindHost), "any text");
}

TEST(SettingsTableTest, HasOneRowOfFiveCellsForEachSetting) {
  const std::string table = settings_table();
  for (const ConfigKey* key : config_keys()) {
    const size_t at = table.find("| `" + std::string(key->name) + "` |");
    ASSERT_NE(at, std::string::npos) << key->name;
    const std::string row = table.substr(at, table.find('\n', at) - at);
    const auto escaped = std::count(row.begin(), row.end(), '\\');
    EXPECT_EQ(std::count(row.begin(), row.end(), '|') - escaped, 6) << row;
  }
}

// What was written differently stands in the directory of the build, to be copied.
TEST(SettingsTableTest, IsWhatTheDocumentSays) {
  const auto files = make_local_file_system();
  const auto document = files->read_all(FRESHET_SOURCE "/runtime/base/SETTINGS.md", 1 << 20);
  const bool same = document.ok() && *document == settings_table();
  const std::string right = FRESHET_BUILD "/SETTINGS.md";
  if (same) return;
  EXPECT_TRUE(files->write_atomically(right, settings_table()).ok());
  FAIL() << "runtime/base/SETTINGS.md does not say what configuration.h does; copy " << right
         << " over it";
}

}  // namespace
}  // namespace freshet
