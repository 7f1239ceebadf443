#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/executor.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_function.h"

namespace freshet {

/// Keeps job modules under their content hash in a directory of the JobManager, and hands out what
/// others keep in memory. Belongs to the main thread; files are read and written on the I/O
/// executor, and results come back as mail. What it stores lives until stop().
class BlobServer : public std::enable_shared_from_this<BlobServer> {
 public:
  static constexpr size_t kChunkBytes = 1 << 20;

  struct Options {
    std::string directory;                 // Emptied by start() and removed by stop().
    uint64_t blob_bytes_max = 1ull << 30;  // Of one blob.
    uint64_t upload_bytes_max = (1ull << 30) + (64ull << 20);  // Of all uploads under way together.
    size_t uploads_max = 16;
  };
  struct PutChunk {
    std::string hash;
    uint64_t size = 0;  // Of the whole blob.
    std::string data;
    bool last = false;
  };
  struct Chunk {
    std::string data;
    uint64_t size = 0;  // Of the whole blob.
    bool last = false;
  };
  using PutDone = UniqueFunction<void(Status)>;
  using GetDone = UniqueFunction<void(Result<Chunk>)>;
  using FindInMemory = std::function<std::shared_ptr<const std::string>(const std::string& hash)>;

  BlobServer(Options options, FileSystem& files, Executor& main, Executor& io);

  /// Before start(). What it finds goes before files.
  void look_first(FindInMemory find) { find_in_memory_ = std::move(find); }

  void start();
  /// `stopped` runs on the main executor after the last file is gone.
  void stop(UniqueFunction<void()> stopped);

  /// The next chunk of what `uploader` sends; chunks of one uploader come in order. `done` is
  /// called once per blob, after its last chunk, with ok also when the blob was known. An error
  /// leaves nothing behind.
  void put(uint64_t uploader, PutChunk chunk, PutDone done);
  /// What it had begun is dropped.
  void forget(uint64_t uploader) { drop_upload(uploader); }

  /// Reads up to kChunkBytes at `offset`.
  void get(const std::string& hash, uint64_t offset, GetDone done);

  bool contains(const std::string& hash) const { return sizes_.contains(hash); }

  /// 32 lower-case hex digits: what may become a file's name.
  static bool is_hash(const std::string& text);

 private:
  struct Upload {
    std::string hash;
    uint64_t size = 0;
    std::string data;
    Status failure;  // Once set, the rest is discarded.
  };
  struct Store {
    std::string hash;
    std::string data;
    PutDone done;
  };

  std::string path_of(const std::string& hash) const { return options_.directory + "/" + hash; }
  Status begin_upload(Upload&, const PutChunk&) const;
  Status add_chunk(Upload&, const PutChunk&) const;
  void drop_upload(uint64_t uploader);
  void store_next();
  void on_stored(const std::string& hash, uint64_t size, PutDone done, Status);
  /// Runs `work` on the I/O executor and `then(result)` here, unless this object has gone.
  template <class Work, class Then>
  void run_io(std::string_view name, Work work, Then then);

  const Options options_;
  FileSystem& files_;
  Executor& main_;
  Executor& io_;
  FindInMemory find_in_memory_;
  std::map<std::string, uint64_t> sizes_;  // What is stored.
  std::map<uint64_t, Upload> uploads_;
  uint64_t uploading_bytes_ = 0;  // In uploads_ and stores_.
  std::deque<Store> stores_;      // Complete uploads; one at a time is written.
  bool storing_ = false;
  bool stopped_ = false;
};

}  // namespace freshet
