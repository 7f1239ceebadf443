#include "jobmanager/blob_server.h"

#include <gtest/gtest.h>

#include "runtime/base/hash.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

class BlobServerTest : public testing::Test {
 protected:
  BlobServerTest() { make({}); }

  void make(BlobServer::Options options) {
    options.directory = "/state/blobs";
    blobs_ = std::make_shared<BlobServer>(options, files_, main_, io_);
    blobs_->start();
    run();
  }

  void run() {
    while (main_.run_ready() + io_.run_ready() > 0) {
    }
  }

  void put(uint64_t uploader, const std::string& hash, uint64_t size, const std::string& data,
           bool last) {
    blobs_->put(uploader, {hash, size, data, last}, [this](Status s) { answers_.push_back(s); });
  }

  Status put_whole(const std::string& content) {
    put(1, content_hash(content), content.size(), content, true);
    run();
    EXPECT_EQ(answers_.size(), 1u);
    return std::exchange(answers_, {}).front();
  }

  std::string get(const std::string& hash) {
    std::string all;
    for (bool last = false; !last;) {
      blobs_->get(hash, all.size(), [&](Result<BlobServer::Chunk> chunk) {
        ASSERT_TRUE(chunk.ok()) << chunk.status().to_string();
        all += chunk->data;
        last = chunk->last;
        chunks_++;
      });
      run();
      if (HasFailure()) break;
    }
    return all;
  }

  ManualClock clock_;
  ManualExecutor main_{clock_};
  ManualExecutor io_{clock_};
  MemoryFileSystem files_;
  std::shared_ptr<BlobServer> blobs_;
  std::vector<Status> answers_;
  int chunks_ = 0;
};

TEST_F(BlobServerTest, GivesBackInChunksWhatWasPut) {
  const std::string content(2 * BlobServer::kChunkBytes + 17, 'x');
  EXPECT_TRUE(put_whole(content).ok());
  EXPECT_TRUE(blobs_->contains(content_hash(content)));
  EXPECT_EQ(get(content_hash(content)), content);
  EXPECT_EQ(chunks_, 3);
}

TEST_F(BlobServerTest, KeepsAnEmptyBlob) {
  EXPECT_TRUE(put_whole("").ok());
  EXPECT_EQ(get(content_hash("")), "");
}

TEST_F(BlobServerTest, AnswersAfterTheLastChunk) {
  const std::string hash = content_hash("abcdef");
  put(1, hash, 6, "abc", false);
  run();
  EXPECT_TRUE(answers_.empty());
  put(1, hash, 6, "def", true);
  run();
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_TRUE(answers_[0].ok());
  EXPECT_EQ(get(hash), "abcdef");
}

TEST_F(BlobServerTest, RefusesContentOfAnotherHash) {
  put(1, content_hash("right"), 5, "wrong", true);
  run();
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].code(), StatusCode::kDataLoss);
  EXPECT_FALSE(blobs_->contains(content_hash("right")));
  EXPECT_TRUE(files_.files().empty());
}

TEST_F(BlobServerTest, RefusesOtherSizesThanPromised) {
  const std::string hash = content_hash("abc");
  put(1, hash, 3, "abcd", false);
  put(1, hash, 3, "", true);
  put(2, hash, 3, "ab", true);
  run();
  ASSERT_EQ(answers_.size(), 2u);
  EXPECT_EQ(answers_[0].code(), StatusCode::kDataLoss);
  EXPECT_EQ(answers_[1].code(), StatusCode::kDataLoss);
}

TEST_F(BlobServerTest, RefusesNamesThatAreNoHash) {
  for (const std::string name : {"", "../../etc/passwd", "ABCDEFABCDEFABCDEFABCDEFABCDEFAB"}) {
    put(1, name, 1, "x", true);
  }
  run();
  ASSERT_EQ(answers_.size(), 3u);
  for (const Status& status : answers_) EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST_F(BlobServerTest, BoundsSizeAndNumberOfUploads) {
  make({.directory = "", .blob_bytes_max = 10, .upload_bytes_max = 12, .uploads_max = 2});
  put(1, content_hash("a"), 11, "", true);
  put(1, content_hash("b"), 10, "12345678", false);
  put(2, content_hash("c"), 10, "12345678", false);  // Too many bytes together.
  put(2, content_hash("c"), 10, "90", true);
  put(3, content_hash("d"), 10, "", false);
  put(4, content_hash("e"), 10, "", true);
  run();
  ASSERT_EQ(answers_.size(), 3u);
  for (const Status& status : answers_) EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  blobs_->forget(1);
  put(2, content_hash("0123456789"), 10, "0123456789", true);  // There is room again.
  run();
  EXPECT_TRUE(answers_.back().ok());
}

TEST_F(BlobServerTest, PutIsIdempotentAndAlsoAtTheSameTime) {
  const std::string hash = content_hash("abc");
  put(1, hash, 3, "abc", true);
  put(2, hash, 3, "abc", true);
  run();
  put(3, hash, 3, "abc", true);
  run();
  ASSERT_EQ(answers_.size(), 3u);
  for (const Status& status : answers_) EXPECT_TRUE(status.ok());
  EXPECT_EQ(files_.files().size(), 1u);
}

TEST_F(BlobServerTest, ReportsADiskThatIsFull) {
  files_.set_capacity(2);
  EXPECT_EQ(put_whole("abc").code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(blobs_->contains(content_hash("abc")));
}

TEST_F(BlobServerTest, ReportsWhatItHasNot) {
  Status status;
  blobs_->get(content_hash("abc"), 0, [&](auto chunk) { status = chunk.status(); });
  run();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
}

TEST_F(BlobServerTest, RemovesAllWhenItStops) {
  EXPECT_TRUE(put_whole("abc").ok());
  bool stopped = false;
  blobs_->stop([&] { stopped = true; });
  run();
  EXPECT_TRUE(stopped);
  EXPECT_TRUE(files_.files().empty());
}

}  // namespace
}  // namespace freshet
