#include "shuffle/partition_store.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <vector>

namespace freshet {

namespace {

Status missing(const PartitionKey& key) {
  return not_found(
      fmt::format("the partition of producer {}, attempt {}, of dataset {} is not here",
                  key.producer, key.attempt, key.dataset.value));
}

}  // namespace

Result<std::unique_ptr<PartitionStore>> PartitionStore::create(Options options) {
  std::unique_ptr<PartitionStore> store(new PartitionStore(std::move(options)));
  for (const std::string& directory : store->directories_->all()) {
    RETURN_IF_ERROR(
        store->options_.place.files->remove_all(directory).with_context("directory of partitions"));
  }
  return store;
}

PartitionStore::PartitionStore(Options options)
    : options_(std::move(options)),
      directories_(std::make_shared<TempDirectories>(options_.place)),
      remover_(std::make_shared<FileRemover>(options_.place.files, options_.place.executor,
                                             directories_)),
      pool_(ReadPool::create(options_.read_bytes)) {}

SpillPlace PartitionStore::place_of(const JobId& job) {
  remover_->keep(job.to_string());
  return directories_->next(job.to_string());
}

std::string PartitionStore::file_name(const PartitionKey& key) {
  return fmt::format("{}-{}-{}.partition", key.dataset.value, key.producer, key.attempt);
}

Status PartitionStore::publish(const PartitionKey& key, const PublishedPartition& partition) {
  MutexLock lock(mutex_);
  if (entries_.try_emplace(key, Entry{partition, {}, nullptr}).second) return Status();
  return already_exists(fmt::format("{} is published already", partition.path));
}

Result<PublishedPartition> PartitionStore::find(const PartitionKey& key) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return missing(key);
  return found->second.partition;
}

Result<std::shared_ptr<PartitionReader>> PartitionStore::read(const PartitionKey& key,
                                                              PartitionReader::Options options) {
  std::shared_ptr<FileElevator> elevator;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return missing(key);
    elevator = elevator_of(key, &found->second);
  }
  return elevator->read(std::move(options));
}

bool PartitionStore::take_at_hand(const PartitionKey& key, uint32_t subpartition,
                                  std::vector<Buffer>* buffers) {
  std::shared_ptr<FileElevator> elevator;
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return false;
    elevator = found->second.elevator.lock();
  }
  return elevator && elevator->take_at_hand(subpartition, buffers);
}

std::shared_ptr<FileElevator> PartitionStore::elevator_of(const PartitionKey& key, Entry* entry) {
  if (auto elevator = entry->elevator.lock()) return elevator;
  auto elevator = std::make_shared<FileElevator>(FileElevator::Options{
      options_.place.files, entry->partition.path, options_.place.executor, pool_,
      [directories = directories_, path = entry->partition.path] {
        directories->on_read_error(path);
      },
      options_.place.faults});
  entry->elevator = entry->kept = elevator;
  kept_.push_back(key);
  if (kept_.size() > kElevatorsKept) {
    const auto oldest = entries_.find(kept_.front());
    if (oldest != entries_.end()) oldest->second.kept = nullptr;
    kept_.pop_front();
  }
  return elevator;
}

void PartitionStore::release(const PartitionKey& key) {
  std::map<PartitionKey, Entry>::node_type released;
  {
    MutexLock lock(mutex_);
    released = entries_.extract(key);
    if (released.empty()) return;
  }
  remover_->remove(released.mapped().partition.path);
}

void PartitionStore::release_job(const JobId& job) {
  std::vector<std::map<PartitionKey, Entry>::node_type> released;
  {
    MutexLock lock(mutex_);
    auto at = entries_.lower_bound(PartitionKey{job, {}, 0, 0});
    while (at != entries_.end() && at->first.job == job) {
      const auto next = std::next(at);
      released.push_back(entries_.extract(at));
      at = next;
    }
  }
  std::vector<std::string> paths;
  for (const auto& one : released) paths.push_back(one.mapped().partition.path);
  remover_->remove_all(std::move(paths), job.to_string());
}

size_t PartitionStore::partition_count() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

uint64_t PartitionStore::file_bytes() const {
  MutexLock lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [key, entry] : entries_) bytes += entry.partition.file_bytes;
  return bytes;
}

}  // namespace freshet
