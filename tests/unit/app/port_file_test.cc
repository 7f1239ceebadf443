#include "runtime/app/port_file.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(PortFileTest, IsReadAsItWasWritten) {
  PortFile file;
  file.address = {"127.0.0.1", 6123};
  EXPECT_EQ(to_text(file), "127.0.0.1:6123\n");
  EXPECT_FALSE(parse_port_file(to_text(file))->rest);
  file.rest = Address{"127.0.0.1", 8081};
  file.metrics = Address{"10.0.0.7", 9249};
  const auto read = parse_port_file(to_text(file));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->address, file.address);
  EXPECT_EQ(read->rest, file.rest);
  EXPECT_EQ(read->metrics, file.metrics);
  EXPECT_EQ(metrics_url(*read->metrics), "http://10.0.0.7:9249/metrics");
}

TEST(PortFileTest, RefusesWhatIsNoAddress) {
  EXPECT_FALSE(parse_port_file("").ok());
  EXPECT_FALSE(parse_port_file("x\n").ok());
  EXPECT_FALSE(parse_port_file("127.0.0.1:1\nmetrics x\n").ok());
  EXPECT_TRUE(parse_port_file("127.0.0.1:1\nlater 1.2.3.4:5\n\n").ok());
}

}  // namespace
}  // namespace freshet
