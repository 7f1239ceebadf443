#include "runtime/rest/multipart_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace freshet::rest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Parts = std::vector<std::pair<std::string, std::string>>;  // Names with files, and bytes.

class Kept final : public MultipartReader::Listener {
 public:
  Status on_part(const MultipartReader::Part& part) override {
    parts.push_back({part.name + (part.file_name ? "=" + *part.file_name : ""), ""});
    return refuse;
  }
  Status on_bytes(std::string_view bytes) override {
    EXPECT_FALSE(bytes.empty());
    parts.back().second += bytes;
    return Status();
  }
  Parts parts;
  Status refuse;
};

/// Given in pieces of `size` bytes.
Result<Parts> read(const std::string& body, size_t size = SIZE_MAX) {
  Kept kept;
  MultipartReader reader("xyz", kept);
  for (size_t at = 0; at < body.size(); at += std::min(size, body.size()))
    RETURN_IF_ERROR(reader.take(std::string_view(body).substr(at, size)));
  RETURN_IF_ERROR(reader.end());
  return kept.parts;
}

std::string error_of(const std::string& body) {
  const auto parts = read(body);
  EXPECT_EQ(parts.status().code(), StatusCode::kInvalidArgument) << body;
  return parts.status().message();
}

constexpr const char* kHeader = "Content-Disposition: form-data; name=\"a\"";

TEST(MultipartReaderTest, GivesTheSamePartsHoweverTheyAreCut) {
  const std::string body =
      "before\r\n--xyz\r\nContent-Disposition: form-data; name=\"jarfile\"; "
      "filename=\"job.so\"\r\nContent-Type: application/octet-stream\r\n\r\n"
      "\r\n-\r\n--\r\n--xy\r\nz--xyz\r\r\n\r\n--xyz  \r\n"
      "content-disposition:form-data;name=plain\r\n\r\nvalue\r\n--xyz\r\n"
      "Content-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--xyz--\r\nafter\r\n--xyz\r\n";
  const Parts wanted = {
      {"jarfile=job.so", "\r\n-\r\n--\r\n--xy\r\nz--xyz\r\r\n"}, {"plain", "value"}, {"empty", ""}};
  for (size_t size = 1; size <= body.size(); ++size) {
    const auto parts = read(body, size);
    ASSERT_TRUE(parts.ok()) << size << ": " << parts.status().message();
    EXPECT_EQ(*parts, wanted) << size;
  }
}

TEST(MultipartReaderTest, ReadsABodyWithoutParts) { EXPECT_THAT(*read("--xyz--"), ElementsAre()); }

TEST(MultipartReaderTest, SaysWhatIsNoSuchBody) {
  const std::string header = kHeader;
  const std::string none = "the multipart/form-data ends before its last boundary";
  EXPECT_EQ(error_of("nothing"), none);
  EXPECT_EQ(error_of("--xyz\r\n" + header + "\r\n\r\nbytes"), none);
  EXPECT_THAT(error_of("--xyzzy\r\n"), HasSubstr("does not end its line"));
  EXPECT_EQ(error_of("--xyz\r\nContent-Type: text/plain\r\n\r\nbytes\r\n--xyz--"),
            "a part of the body has no name");
  EXPECT_EQ(error_of("--xyz\r\n\r\nbytes\r\n--xyz--"), "a part of the body has no name");
  EXPECT_EQ(error_of("--xyz\r\nContent-Disposition: attachment; name=a\r\n\r\n\r\n--xyz--"),
            "a part of the body has no name");
  EXPECT_THAT(error_of("--xyz\r\n" + header + std::string(9000, 'x')),
              HasSubstr("headers of a part are larger than 8192 bytes"));
  std::string many;
  for (int i = 0; i < 40; ++i) many += "--xyz\r\n" + header + "\r\n\r\n\r\n";
  EXPECT_EQ(error_of(many + "--xyz--"), "the body has more than 32 parts");
}

TEST(MultipartReaderTest, StopsWhenItsListenerDoes) {
  Kept kept;
  kept.refuse = resource_exhausted("no room");
  MultipartReader reader("xyz", kept);
  EXPECT_EQ(reader.take(std::string("--xyz\r\n") + kHeader + "\r\n\r\nbytes\r\n--xyz--"),
            resource_exhausted("no room"));
}

TEST(MultipartReaderTest, FindsTheBoundaryInAContentType) {
  EXPECT_EQ(*MultipartReader::boundary_of("multipart/form-data; boundary=----abc"), "----abc");
  EXPECT_EQ(*MultipartReader::boundary_of("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\""),
            "a b");
  for (const std::string& wrong :
       {std::string(), std::string("text/plain; boundary=a"), std::string("multipart/form-data"),
        std::string("multipart/form-data; boundary="), std::string("multipart/form-data; bound;"),
        "multipart/form-data; boundary=" + std::string(71, 'x')})
    EXPECT_FALSE(MultipartReader::boundary_of(wrong).ok()) << wrong;
}

TEST(HeaderParameterTest, ReadsQuotedAndPlainValues) {
  const std::string_view value = R"(form-data; flag; a="x\"y\\z\n" ; b = plain; c="open;ended)";
  EXPECT_EQ(header_parameter(value, "a"), R"(x"y\z\n)");
  EXPECT_EQ(header_parameter(value, "B"), "plain");
  EXPECT_EQ(header_parameter(value, "c"), "open;ended");
  EXPECT_EQ(header_parameter(value, "flag"), std::nullopt);
  EXPECT_EQ(header_parameter("form-data", "a"), std::nullopt);
  EXPECT_EQ(header_parameter("", "a"), std::nullopt);
}

}  // namespace
}  // namespace freshet::rest
