#include "shuffle/stored_files.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace freshet {

namespace {

MemoryClaim region_claim(uint64_t bytes_max) {
  MemoryClaim claim;
  claim.guaranteed_bytes = RegionBuffer::kLeastBytes;
  claim.extra_bytes_max =
      std::max(bytes_max, RegionBuffer::kLeastBytes) - RegionBuffer::kLeastBytes;
  return claim;
}

StoredPartition::Name name_of(const ResultPartition::Options& options) {
  return {options.job, options.dataset, options.producer, options.attempt};
}

/// Of a file that could not be begun to be read.
class LostSource final : public BufferSource {
 public:
  explicit LostSource(Status cause) : cause_(std::move(cause)) {}
  Result<std::optional<Buffer>> take() override { return cause_; }
  bool ended() const override { return false; }
  uint64_t waiting_bytes() const override { return 0; }

 private:
  const Status cause_;
};

class FileSource final : public BufferSource {
 public:
  explicit FileSource(std::shared_ptr<PartitionReader> reader) : reader_(std::move(reader)) {}
  ~FileSource() override { reader_->close(); }

  Result<std::optional<Buffer>> take() override {
    ASSIGN_OR_RETURN(std::optional<PartitionReader::Taken> taken, reader_->take());
    if (!taken) return std::optional<Buffer>();
    return std::optional<Buffer>(std::move(taken->buffer));
  }
  bool ended() const override { return reader_->ended(); }
  uint64_t waiting_bytes() const override { return reader_->waiting_bytes(); }

 private:
  const std::shared_ptr<PartitionReader> reader_;
};

class FilePartition final : public StoredPartition {
 public:
  FilePartition(const ResultPartition::Options& options,
                std::optional<std::vector<uint32_t>> filled, std::shared_ptr<PartitionStore> store,
                Executor& executor)
      : StoredPartition(name_of(options), options.subpartitions, options.fixed_record_size),
        filled_(std::move(filled)),
        store_(std::move(store)),
        executor_(executor) {}

  std::optional<std::vector<uint32_t>> filled() const override { return filled_; }

  bool take_at_hand(uint32_t subpartition, std::vector<Buffer>* buffers) const override {
    return store_->take_at_hand(name(), subpartition, buffers);
  }

  std::unique_ptr<BufferSource> read(uint32_t subpartition, uint64_t next_element,
                                     std::function<void()> wake) const override {
    PartitionReader::Options options;
    options.subpartition = subpartition;
    options.next_element = next_element;
    options.fixed_record_size = fixed_record_size();
    options.wake = std::move(wake);
    auto reader = store_->read(name(), std::move(options));
    if (!reader.ok()) return std::make_unique<LostSource>(reader.status());
    return std::make_unique<FileSource>(*std::move(reader));
  }

  void later(std::function<void()> function) const override {
    executor_.post("partition_lost", std::move(function));
  }

 private:
  const std::optional<std::vector<uint32_t>> filled_;
  const std::shared_ptr<PartitionStore> store_;
  Executor& executor_;
};

}  // namespace

Result<std::shared_ptr<StoredFiles>> StoredFiles::create(Context context) {
  std::shared_ptr<StoredFiles> files(new StoredFiles(std::move(context)));
  ASSIGN_OR_RETURN(files->store_,
                   PartitionStore::create({files->context_.place, files->context_.read_bytes}));
  return files;
}

uint64_t StoredFiles::least_bytes() { return RegionBuffer::kLeastBytes; }

Result<std::shared_ptr<ResultPartition>> StoredFiles::create_partition(
    const ResultPartition::Options& options) {
  const MemoryClaim claim = region_claim(context_.write_bytes_max);
  RETURN_IF_ERROR(context_.shares->reserve(options.job, claim));
  BlockingPartition::Context context;
  context.pool = context_.pool;
  context.claim = claim;
  context.shares = context_.shares;
  context.place = store_->place_of(options.job);
  context.file_name = PartitionStore::file_name(name_of(options));
  context.codec = context_.codec;
  context.on_release = [shares = context_.shares, job = options.job, claim] {
    shares->give_back(job, claim);
  };
  context.on_published = [files = shared_from_this(), options](
                             const PublishedPartition& published,
                             std::optional<std::vector<uint32_t>> filled) {
    return files->publish(options, published, std::move(filled));
  };
  return std::shared_ptr<ResultPartition>(
      std::make_shared<BlockingPartition>(options, std::move(context)));
}

Status StoredFiles::publish(const ResultPartition::Options& options,
                            const PublishedPartition& published,
                            std::optional<std::vector<uint32_t>> filled) {
  RETURN_IF_ERROR(store_->publish(name_of(options), published));
  return context_.index->add_stored(std::make_shared<FilePartition>(
      options, std::move(filled), store_, *context_.place.executor));
}

void StoredFiles::release(const StoredPartition::Name& name) {
  (void)context_.index->remove_stored(name);
  store_->release(name);
}

void StoredFiles::release_job(const JobId& job) {
  context_.index->remove_all_stored(job);
  store_->release_job(job);
}

}  // namespace freshet
