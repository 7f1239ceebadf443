#include "network/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/base/random.h"

namespace freshet {
namespace {

using testing::HasSubstr;

struct Frame {
  FrameHeader header;
  std::string payload;
  bool operator==(const Frame&) const = default;
};

std::string encode(const FrameHeader& header) {
  std::string bytes(kFrameHeaderBytes, 0);
  header.encode_to(bytes.data());
  return bytes;
}

/// Frames of all kinds and of sizes around zero.
std::vector<Frame> some_frames() {
  std::vector<Frame> frames;
  for (uint8_t kind = 1; kind <= 10; ++kind) {
    for (const uint32_t size : {0u, 1u, 39u, 100u}) {
      Frame frame;
      frame.payload = std::string(size, static_cast<char>('a' + kind));
      frame.header = {.payload_bytes = size,
                      .kind = static_cast<FrameKind>(kind),
                      .flags = kFrameEndsIncomplete,
                      .block_class = kind,
                      .first_element = size};
      frames.push_back(frame);
    }
  }
  return frames;
}

std::string encode(const std::vector<Frame>& frames) {
  std::string bytes;
  for (const Frame& frame : frames) bytes += encode(frame.header) + frame.payload;
  return bytes;
}

/// What a reader makes of a stream that arrives in these parts.
class Collector {
 public:
  Status feed(std::string_view bytes) {
    return reader_.on_bytes(bytes, [this](const FrameHeader& header, std::string_view payload) {
      frames_.push_back({header, std::string(payload)});
      return Status();
    });
  }
  const std::vector<Frame>& frames() const { return frames_; }
  const FrameReader& reader() const { return reader_; }

 private:
  FrameReader reader_{FrameOpening::kAny};
  std::vector<Frame> frames_;
};

TEST(FrameHeaderTest, HasAFixedLayout) {
  const FrameHeader header{.payload_bytes = 0x000f0201,
                           .kind = FrameKind::kCredit,
                           .flags = 7,
                           .block_class = 0x0908,
                           .attachment = 0x0d0c0b0a,
                           .producer = 0x11100f0e,
                           .producer_attempt = 0x15141312,
                           .elements_started = 0x19181716,
                           .first_element = 0x21201f1e1d1c1b1a,
                           .hash = 0x25242322,
                           .gate = 0x29282726};
  const std::string bytes = encode(header);
  const std::string expected(
      "\x01\x02\x0f\x00\x05\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18"
      "\x19\x1a\x1b\x1c\x1d"
      "\x1e\x1f\x20\x21\x22\x23\x24\x25\x26\x27\x28\x29",
      kFrameHeaderBytes);
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(FrameHeader::decode(bytes).value(), header);
}

TEST(FrameHeaderTest, RefusesWhatIsNotOurs) {
  const auto message = [](const std::string& bytes) {
    const Result<FrameHeader> decoded = FrameHeader::decode(bytes);
    EXPECT_EQ(decoded.status().code(), StatusCode::kDataLoss);
    return decoded.status().message();
  };
  std::string bytes = encode(FrameHeader{});
  EXPECT_THAT(message(bytes.substr(1)), HasSubstr("39 bytes"));
  for (const char kind : {0, 14, 127}) {
    bytes[4] = kind;
    EXPECT_THAT(message(bytes), HasSubstr("unknown kind " + std::to_string(kind)));
  }
  bytes[4] = 1;
  bytes[5] = 16;
  EXPECT_THAT(message(bytes), HasSubstr("unknown flags 0x10"));
  EXPECT_THAT(message(encode(FrameHeader{.payload_bytes = kFramePayloadBytesMax + 1})),
              HasSubstr("1048577 bytes"));
  EXPECT_TRUE(
      FrameHeader::decode(encode(FrameHeader{.payload_bytes = kFramePayloadBytesMax})).ok());
}

TEST(FrameHeaderTest, NamesItsKinds) {
  EXPECT_EQ(to_string(FrameKind::kData), "data");
  EXPECT_EQ(to_string(FrameKind::kProducersEnded), "producers_ended");
}

TEST(FrameReaderTest, FindsFramesCutAtEveryByte) {
  const std::vector<Frame> frames = some_frames();
  const std::string bytes = encode(frames);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    Collector collector;
    ASSERT_TRUE(collector.feed(bytes.substr(0, cut)).ok());
    ASSERT_TRUE(collector.feed(bytes.substr(cut)).ok());
    ASSERT_EQ(collector.frames(), frames) << "cut at " << cut;
    ASSERT_TRUE(collector.reader().at_boundary());
  }
}

TEST(FrameReaderTest, FindsFramesThatComeInPartsOfEverySize) {
  const std::vector<Frame> frames = some_frames();
  const std::string bytes = encode(frames);
  for (size_t part = 1; part < 150; ++part) {
    Collector collector;
    for (size_t at = 0; at < bytes.size(); at += part)
      ASSERT_TRUE(collector.feed(bytes.substr(at, part)).ok());
    ASSERT_EQ(collector.frames(), frames) << "parts of " << part;
  }
}

TEST(FrameReaderTest, DoesNotCopyAPayloadThatIsWhole) {
  const std::string bytes = encode(some_frames());
  FrameReader reader(FrameOpening::kAny);
  const Status status = reader.on_bytes(bytes, [&](const FrameHeader&, std::string_view payload) {
    EXPECT_TRUE(payload.data() >= bytes.data() &&
                payload.data() + payload.size() <= bytes.data() + bytes.size());
    return Status();
  });
  EXPECT_TRUE(status.ok());
}

/// Reads a stream in two parts, the second as a connection would: into the place, if there is one.
class PlacingCollector {
 public:
  explicit PlacingCollector(bool gives_place) : gives_place_(gives_place) {}

  Status feed(std::string_view bytes) {
    const std::span<char> place = reader_.next_place();
    const std::string_view first = bytes.substr(0, place.size());
    std::copy(first.begin(), first.end(), place.begin());
    Status status = first.empty() ? Status() : give({place.data(), first.size()});
    in_place_ += first.size();
    if (status.ok()) status = give(bytes.substr(first.size()));
    return status;
  }

  const std::vector<Frame>& frames() const { return frames_; }
  size_t in_place() const { return in_place_; }
  int asked() const { return asked_; }
  const FrameReader& reader() const { return reader_; }

 private:
  Status give(std::string_view bytes) {
    return reader_.on_bytes(
        bytes,
        [this](const FrameHeader& header, std::string_view payload) {
          EXPECT_TRUE(!place_ || !gives_place_ || payload.data() == place_->data());
          frames_.push_back({header, std::string(payload)});
          place_.reset();
          return Status();
        },
        [this](const FrameHeader& header) {
          ++asked_;
          place_ = std::make_unique<std::string>(header.payload_bytes, 0);
          return gives_place_ ? place_->data() : nullptr;
        });
  }

  const bool gives_place_;
  FrameReader reader_{FrameOpening::kAny};
  std::vector<Frame> frames_;
  std::unique_ptr<std::string> place_;
  size_t in_place_ = 0;
  int asked_ = 0;
};

/// One around the size from which payloads may have a place, between two small ones.
std::vector<Frame> frames_around(size_t size) {
  std::vector<Frame> frames;
  for (const size_t each : {size_t{7}, size, size_t{9}}) {
    Frame frame;
    for (size_t i = 0; i < each; ++i) frame.payload += static_cast<char>(i * 31 >> 3);
    frame.header.payload_bytes = static_cast<uint32_t>(each);
    frames.push_back(frame);
  }
  return frames;
}

TEST(FrameReaderTest, PutsLargePayloadsInTheirPlaceWhereverTheyAreCut) {
  for (const size_t size : {kFramePlacedBytesMin - 1, kFramePlacedBytesMin,
                            kFramePlacedBytesMin + 1, 2 * kFramePlacedBytesMin + 1}) {
    const std::vector<Frame> frames = frames_around(size);
    const std::string bytes = encode(frames);
    const size_t begin = 2 * kFrameHeaderBytes + 7;
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      for (const bool gives_place : {true, false}) {
        PlacingCollector collector(gives_place);
        ASSERT_TRUE(collector.feed(bytes.substr(0, cut)).ok());
        const bool inside = cut >= begin && cut < begin + size;
        const size_t missing = inside ? begin + size - cut : 0;
        const bool placed = missing >= kFramePlacedBytesMin;
        EXPECT_EQ(collector.asked(), placed) << size << " cut at " << cut;
        EXPECT_EQ(collector.reader().next_place().size(), placed && gives_place ? missing : 0);
        ASSERT_TRUE(collector.feed(bytes.substr(cut)).ok());
        ASSERT_EQ(collector.frames(), frames) << size << " cut at " << cut;
        EXPECT_EQ(collector.in_place(), placed && gives_place ? missing : 0);
        EXPECT_EQ(collector.asked(), placed);
      }
    }
  }
}

TEST(FrameReaderTest, PutsAPayloadInItsPlaceInPartsOfEverySize) {
  const std::vector<Frame> frames = frames_around(3 * kFramePlacedBytesMin);
  const std::string bytes = encode(frames);
  for (size_t part = 1; part < bytes.size(); part += 13) {
    PlacingCollector collector(true);
    for (size_t at = 0; at < bytes.size(); at += part)
      ASSERT_TRUE(collector.feed(bytes.substr(at, part)).ok());
    ASSERT_EQ(collector.frames(), frames) << "parts of " << part;
    EXPECT_TRUE(collector.reader().at_boundary());
    EXPECT_TRUE(collector.reader().next_place().empty());
  }
}

TEST(FrameReaderTest, KnowsWhetherAStreamMayEnd) {
  const std::string bytes = encode({Frame{{.payload_bytes = 3}, "abc"}});
  for (size_t size = 0; size <= bytes.size(); ++size) {
    Collector collector;
    ASSERT_TRUE(collector.feed(bytes.substr(0, size)).ok());
    EXPECT_EQ(collector.reader().at_boundary(), size == 0 || size == bytes.size()) << size;
  }
}

TEST(FrameReaderTest, StopsForGoodAtTheFirstError) {
  Collector collector;
  const std::string good = encode(some_frames());
  const Status error = collector.feed(good + std::string(kFrameHeaderBytes, '\0') + good);
  EXPECT_EQ(error.code(), StatusCode::kDataLoss);
  EXPECT_EQ(collector.frames(), some_frames());
  EXPECT_EQ(collector.feed(good), error);
  EXPECT_EQ(collector.frames().size(), some_frames().size());
}

TEST(FrameReaderTest, SeesGarbageThatIsShorterThanAHeader) {
  Collector collector;
  EXPECT_EQ(collector.feed("GET / HTTP/1.1\r\n").code(), StatusCode::kDataLoss);
}

TEST(FrameReaderTest, StopsWhenItsSinkRefuses) {
  FrameReader reader(FrameOpening::kAny);
  int frames = 0;
  const auto sink = [&](const FrameHeader&, std::string_view) {
    return ++frames == 3 ? data_loss("no") : Status();
  };
  EXPECT_EQ(reader.on_bytes(encode(some_frames()), sink), data_loss("no"));
  EXPECT_EQ(reader.on_bytes(encode(some_frames()), sink), data_loss("no"));
  EXPECT_EQ(frames, 3);
}

/// The first error of a stream that begins with this much of a frame.
Status opening(const FrameHeader& header, size_t bytes = kFrameHeaderBytes) {
  FrameReader reader;
  return reader.on_bytes(encode(header).substr(0, bytes), [](const FrameHeader&, std::string_view) {
    ADD_FAILURE() << "nothing is complete";
    return Status();
  });
}

TEST(FrameReaderTest, RefusesAStrangersFrameByItsHeader) {
  for (uint8_t kind = 1; kind <= 10; ++kind) {
    const FrameHeader header{.payload_bytes = 100, .kind = static_cast<FrameKind>(kind)};
    EXPECT_EQ(opening(header).ok(), header.kind == FrameKind::kHello) << int{kind};
  }
  const auto hello_of = [](uint32_t bytes) {
    return FrameHeader{.payload_bytes = bytes, .kind = FrameKind::kHello};
  };
  EXPECT_TRUE(opening(hello_of(kHelloBytesMax)).ok());
  const Status too_large = opening(hello_of(kHelloBytesMax + 1));
  EXPECT_EQ(too_large.code(), StatusCode::kDataLoss);
  EXPECT_THAT(too_large.message(), HasSubstr("at most 16384"));
  EXPECT_FALSE(opening(hello_of(kHelloBytesMax + 1), 4).ok());  // Its first bytes are enough.
}

TEST(FrameReaderTest, TakesFramesOfAllKindsBehindTheHello) {
  std::vector<Frame> frames{{{.payload_bytes = 3, .kind = FrameKind::kHello}, "abc"}};
  for (const Frame& frame : some_frames()) frames.push_back(frame);
  Frame large{{.payload_bytes = kFramePayloadBytesMax}, std::string(kFramePayloadBytesMax, 'x')};
  frames.push_back(large);
  FrameReader reader;
  std::vector<Frame> found;
  for (const char byte : encode(frames)) {
    ASSERT_TRUE(reader
                    .on_bytes({&byte, 1},
                              [&](const FrameHeader& header, std::string_view text) {
                                found.push_back({header, std::string(text)});
                                return Status();
                              })
                    .ok());
  }
  EXPECT_TRUE(found == frames);
}

TEST(FrameReaderTest, SurvivesGarbage) {
  const auto random = make_seeded_random(7);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = encode(some_frames());
    for (uint64_t i = random->below(5); i > 0; --i)
      bytes[random->below(bytes.size())] = static_cast<char>(random->next());
    if (round % 4 == 0) {
      for (char& byte : bytes) byte = static_cast<char>(random->next());
    }
    Collector collector;
    Status status;
    for (size_t at = 0; at < bytes.size() && status.ok();) {
      const size_t part = 1 + random->below(200);
      status = collector.feed(std::string_view(bytes).substr(at, part));
      at += part;
    }
    if (!status.ok()) ++refused;
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 2000);
}

}  // namespace
}  // namespace freshet
