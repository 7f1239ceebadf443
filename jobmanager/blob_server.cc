#include "jobmanager/blob_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/hash.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

Status store(FileSystem& files, const std::string& path, const std::string& hash,
             const std::string& data) {
  const std::string actual = content_hash(data);
  if (actual != hash) {
    return data_loss(fmt::format("blob {}: its content has the hash {}", hash, actual));
  }
  return files.write_atomically(path, data).with_context("blob " + hash);
}

Result<BlobServer::Chunk> part_of(const std::string& bytes, uint64_t offset) {
  if (offset > bytes.size()) return invalid_argument("an offset beyond the end of the blob");
  BlobServer::Chunk chunk;
  chunk.size = bytes.size();
  chunk.data = bytes.substr(offset, BlobServer::kChunkBytes);
  chunk.last = offset + chunk.data.size() == bytes.size();
  return chunk;
}

Result<BlobServer::Chunk> read(FileSystem& files, const std::string& path, uint64_t size,
                               uint64_t offset) {
  BlobServer::Chunk chunk;
  chunk.size = size;
  chunk.data.resize(std::min<uint64_t>(BlobServer::kChunkBytes, size - offset));
  chunk.last = offset + chunk.data.size() == size;
  ASSIGN_OR_RETURN(const auto file, files.open(path));
  ASSIGN_OR_RETURN(const size_t bytes, file->read(offset, chunk.data.data(), chunk.data.size()));
  if (bytes != chunk.data.size()) return data_loss(path + " is shorter than it was");
  return chunk;
}

}  // namespace

BlobServer::BlobServer(Options options, FileSystem& files, Executor& main, Executor& io)
    : options_(std::move(options)), files_(files), main_(main), io_(io) {}

bool BlobServer::is_hash(const std::string& text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 32 && std::all_of(text.begin(), text.end(), is_digit);
}

template <class Work, class Then>
void BlobServer::run_io(std::string_view name, Work work, Then then) {
  io_.post(name, [&main = main_, name, weak = weak_from_this(), work = std::move(work),
                  then = std::move(then)]() mutable {
    auto result = work();
    main.post(name, [weak = std::move(weak), result = std::move(result),
                     then = std::move(then)]() mutable {
      if (const auto self = weak.lock()) then(*self, std::move(result));
    });
  });
}

void BlobServer::start() {
  storing_ = true;  // Uploads wait until the directory is empty.
  run_io(
      "blob_prepare",
      [&files = files_, directory = options_.directory] {
        RETURN_IF_ERROR(files.remove_all(directory));
        return files.create_directories(directory);
      },
      [](BlobServer& self, Status status) {
        if (!status.ok()) LOG_WARN("blob_directory_not_prepared", {{"cause", status}});
        self.storing_ = false;
        self.store_next();
      });
}

void BlobServer::stop(UniqueFunction<void()> stopped) {
  stopped_ = true;
  uploads_.clear();
  stores_.clear();
  sizes_.clear();
  run_io(
      "blob_remove",
      [&files = files_, directory = options_.directory] { return files.remove_all(directory); },
      [keep = shared_from_this(), stopped = std::move(stopped)](BlobServer&,
                                                                Status status) mutable {
        if (!status.ok()) LOG_WARN("blob_directory_not_removed", {{"cause", status}});
        if (stopped) stopped();
      });
}

Status BlobServer::begin_upload(Upload& upload, const PutChunk& chunk) const {
  upload.hash = chunk.hash;
  upload.size = chunk.size;
  if (!is_hash(chunk.hash)) return invalid_argument("a blob's name has 32 lower-case hex digits");
  if (chunk.size > options_.blob_bytes_max) {
    return resource_exhausted(fmt::format("blob {} has {} bytes; at most {} are allowed",
                                          chunk.hash, chunk.size, options_.blob_bytes_max));
  }
  if (uploads_.size() > options_.uploads_max) {
    return resource_exhausted(
        fmt::format("{} blobs are being uploaded already", options_.uploads_max));
  }
  return Status();
}

Status BlobServer::add_chunk(Upload& upload, const PutChunk& chunk) const {
  if (chunk.hash != upload.hash || chunk.size != upload.size) {
    return invalid_argument("blob " + upload.hash + ": another blob began before its last chunk");
  }
  const uint64_t bytes = upload.data.size() + chunk.data.size();
  if (bytes > upload.size || (chunk.last && bytes != upload.size)) {
    return data_loss(
        fmt::format("blob {}: {} bytes came, {} were promised", upload.hash, bytes, upload.size));
  }
  if (uploading_bytes_ + chunk.data.size() > options_.upload_bytes_max) {
    return resource_exhausted("too many bytes are being uploaded; try again later");
  }
  return Status();
}

void BlobServer::put(uint64_t uploader, PutChunk chunk, PutDone done) {
  const auto [it, begins] = uploads_.try_emplace(uploader);
  Upload& upload = it->second;
  if (stopped_) upload.failure = unavailable("the JobManager is stopping");
  if (begins && upload.failure.ok()) upload.failure = begin_upload(upload, chunk);
  const bool known = upload.failure.ok() && contains(upload.hash);
  if (upload.failure.ok() && !known) upload.failure = add_chunk(upload, chunk);
  if (!upload.failure.ok()) {
    uploading_bytes_ -= std::exchange(upload.data, {}).size();
  } else if (!known) {
    upload.data += chunk.data;
    uploading_bytes_ += chunk.data.size();
  }
  if (!chunk.last) return;
  if (!upload.failure.ok() || known) {
    const Status result = upload.failure;
    drop_upload(uploader);
    done(result);
    return;
  }
  stores_.push_back({std::move(upload.hash), std::move(upload.data), std::move(done)});
  uploads_.erase(it);
  store_next();
}

void BlobServer::drop_upload(uint64_t uploader) {
  const auto it = uploads_.find(uploader);
  if (it == uploads_.end()) return;
  uploading_bytes_ -= it->second.data.size();
  uploads_.erase(it);
}

void BlobServer::store_next() {
  while (!storing_ && !stopped_ && !stores_.empty()) {
    Store next = std::move(stores_.front());
    stores_.pop_front();
    const uint64_t size = next.data.size();
    if (contains(next.hash)) {
      uploading_bytes_ -= size;
      next.done(Status());
      continue;
    }
    storing_ = true;
    run_io(
        "blob_store",
        [&files = files_, path = path_of(next.hash), hash = next.hash,
         data = std::move(next.data)] { return store(files, path, hash, data); },
        [hash = next.hash, size, done = std::move(next.done)](BlobServer& self,
                                                              Status status) mutable {
          self.on_stored(hash, size, std::move(done), std::move(status));
        });
  }
}

void BlobServer::on_stored(const std::string& hash, uint64_t size, PutDone done, Status status) {
  storing_ = false;
  if (stopped_) return;
  uploading_bytes_ -= size;
  if (status.ok()) {
    sizes_[hash] = size;
    LOG_INFO("blob_stored", {{"hash", hash}, {"bytes", size}});
  } else {
    LOG_WARN("blob_refused", {{"hash", hash}, {"cause", status}});
  }
  done(std::move(status));
  store_next();
}

void BlobServer::get(const std::string& hash, uint64_t offset, GetDone done) {
  const auto in_memory = find_in_memory_ ? find_in_memory_(hash) : nullptr;
  if (in_memory != nullptr) return done(part_of(*in_memory, offset));
  const auto it = sizes_.find(hash);
  if (it == sizes_.end()) return done(not_found("no blob has the hash '" + hash + "'"));
  if (offset > it->second) return done(invalid_argument("an offset beyond the end of the blob"));
  run_io(
      "blob_read",
      [&files = files_, path = path_of(hash), size = it->second, offset] {
        return read(files, path, size, offset);
      },
      [done = std::move(done)](BlobServer&, Result<Chunk> chunk) mutable {
        done(std::move(chunk));
      });
}

}  // namespace freshet
