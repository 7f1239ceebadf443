#include "runtime/app/security.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(SecurityTest, AllowsLoopbackWithoutASecret) {
  EXPECT_TRUE(check_bind({"127.0.0.1", 0}, Configuration()).ok());
  EXPECT_TRUE(check_bind({"::1", 0}, Configuration()).ok());
  EXPECT_TRUE(check_bind({"localhost", 0}, Configuration()).ok());
}

TEST(SecurityTest, RefusesEverythingElseUntilASecretIsSet) {
  for (const char* host : {"0.0.0.0", "::", "192.168.1.7", "example.org"}) {
    const Status refused = check_bind({host, 0}, Configuration());
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << host;
    EXPECT_NE(refused.message().find("security.secret"), std::string::npos);
    Configuration with_secret;
    ASSERT_TRUE(with_secret.set("security.secret", "rain").ok());
    EXPECT_TRUE(check_bind({host, 0}, with_secret).ok());
  }
}

}  // namespace
}  // namespace freshet
