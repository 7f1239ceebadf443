#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/transport.h"

namespace freshet {
namespace {

using testing::HasSubstr;

TEST(AddressTest, ParsesWhatItPrints) {
  for (const std::string text :
       {"127.0.0.1:6123", "[::1]:0", "[fe80::1:2]:65535", "host-1.example.org:80", "a_b:1"}) {
    const Result<Address> address = Address::parse(text);
    ASSERT_TRUE(address.ok()) << address.status().to_string();
    EXPECT_EQ(address.value().to_string(), text);
  }
  EXPECT_EQ(Address::parse("[::1]:7").value(), (Address{"::1", 7}));
}

TEST(AddressTest, NamesWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "port is missing"},
      {"localhost", "port is missing"},
      {":80", "host is empty"},
      {"a b:80", "not a host name"},
      {"::1:80", "needs brackets"},
      {"[::1]", "port is missing"},
      {"[::1]80", "port is missing"},
      {"[::1:80", "']' is missing"},
      {"[1.2.3.4]:80", "no IPv6 address"},
      {"host:", "from 0 to 65535"},
      {"host:65536", "from 0 to 65535"},
      {"host:-1", "from 0 to 65535"},
      {"host:80x", "from 0 to 65535"},
      {"-h:1", "not a host name"},
      {"[]:1", "no IPv6 address"},
      {"host: 80", "from 0 to 65535"},
      {std::string(300, 'a') + ":1", "not a host name"},
  };
  for (const auto& [text, why] : cases) {
    const Result<Address> address = Address::parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(address.status().message(), HasSubstr(why)) << text;
    EXPECT_THAT(address.status().message(), HasSubstr("'" + text + "'"));
  }
}

TEST(AddressTest, ParsesUnixSockets) {
  for (const std::string& name : std::vector<std::string>{"/run/a b:1/[data].socket", "@freshet-1",
                                                          "/" + std::string(106, 'x')}) {
    const Result<Address> address = Address::parse("unix:" + name);
    ASSERT_TRUE(address.ok()) << address.status().to_string();
    EXPECT_EQ(address->unix_socket, name);
    EXPECT_TRUE(address->is_unix());
    EXPECT_TRUE(address->is_loopback());
    EXPECT_FALSE(address->is_wildcard());
    EXPECT_EQ(address->to_string(), "unix:" + name);
  }
  EXPECT_EQ(Address::parse("unix:80").value(), (Address{"unix", 80}));  // A host of that name.
  EXPECT_FALSE(Address::parse("unix:80")->is_unix());
}

TEST(AddressTest, NamesWhatIsWrongWithAUnixSocket) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"unix:/", "name is empty"},
      {"unix:@", "name is empty"},
      {std::string("unix:/a\0b", 9), "zero byte"},
      {"unix:/" + std::string(107, 'x'), "108 bytes, and at most 107"},
      {"unix:@" + std::string(107, 'x'), "108 bytes, and at most 107"},
      {"unix:data.socket", "port is not a number"},
  };
  for (const auto& [text, why] : cases) {
    const Result<Address> address = Address::parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(address.status().message(), HasSubstr(why)) << text;
  }
}

TEST(AddressTest, KnowsLoopback) {
  for (const std::string host :
       {"127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1", "localhost"}) {
    EXPECT_TRUE((Address{host, 1}).is_loopback()) << host;
  }
  for (const std::string host : {"0.0.0.0", "::", "128.0.0.1", "127.0.0.1.example.org",
                                 "localhost.example.org", "127", ""}) {
    EXPECT_FALSE((Address{host, 1}).is_loopback()) << host;
  }
}

TEST(AddressTest, KnowsWildcards) {
  for (const std::string host : {"0.0.0.0", "::", "0:0:0:0:0:0:0:0"}) {
    EXPECT_TRUE((Address{host, 1}).is_wildcard()) << host;
  }
  for (const std::string host : {"127.0.0.1", "0.0.0.1", "::1", "localhost", ""}) {
    EXPECT_FALSE((Address{host, 1}).is_wildcard()) << host;
  }
}

}  // namespace
}  // namespace freshet
