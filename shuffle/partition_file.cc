#include "shuffle/partition_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/check.h"

namespace freshet {

namespace {

constexpr uint64_t kFooterBytesExpected = 64u << 10;
constexpr size_t kIndexesExpected = 64;

}  // namespace

bool is_partition_lost(const Status& status) {
  return status.code() == StatusCode::kNotFound || status.code() == StatusCode::kDataLoss;
}

PartitionFile::PartitionFile(FileSystem& files, std::string path, std::shared_ptr<ReadPool> pool)
    : files_(files),
      path_(std::move(path)),
      pool_(std::move(pool)),
      around_bytes_(pool_->around_bytes()) {}

PartitionFile::~PartitionFile() {
  if (kept_) pool_->forget_file();
}

Status PartitionFile::damaged(uint64_t offset, std::string_view what) const {
  return data_loss(fmt::format("{}: {} (at offset {})", path_, what, offset));
}

Status PartitionFile::unless_lost(uint64_t offset, const Status& status) const {
  const bool is_said = is_partition_lost(status) || status.code() == StatusCode::kResourceExhausted;
  return is_said ? status : damaged(offset, status.message());
}

Status PartitionFile::open_file(uint64_t offset) {
  if (file_) return Status();
  Result<std::unique_ptr<ReadableFile>> file = files_.open(path_);
  if (!file.ok()) return unless_lost(offset, file.status());
  file_ = std::move(file).value();
  return Status();
}

void PartitionFile::expect_around(uint64_t begin, uint64_t end) {
  const uint64_t last = (end - 1) / around_bytes_;
  if (last >= expected_.size()) expected_.resize(last + 1);
  for (uint64_t piece = begin / around_bytes_; piece <= last; ++piece) {
    if (expected_[piece]) continue;
    expected_[piece] = true;
    file_->expect(piece * around_bytes_, around_bytes_);
  }
}

void PartitionFile::expect(uint64_t offset, uint64_t size) {
  if (!open_file(offset).ok()) return;  // Who reads says so.
  if (size < ReadPool::kAroundBytesMin) {
    expect_around(offset, offset + size);
  } else {
    file_->expect(offset, size);
  }
}

Status PartitionFile::read(uint64_t offset, char* to, size_t size) {
  RETURN_IF_ERROR(open_file(offset));
  if (size < ReadPool::kAroundBytesMin) expect_around(offset, offset + size);
  const Result<size_t> got = file_->read(offset, to, size);
  // Whatever is the matter with the disk: it will not be better the next time.
  if (!got.ok()) return damaged(offset, got.status().message());
  if (*got == size) return Status();
  return damaged(offset + *got, fmt::format("{} bytes are missing", size - *got));
}

void PartitionFile::rest(bool idle) {
  if (idle) forget_pages(kIndexBytesAtRest);
  if (!file_ || kept_) return;
  kept_ = pool_->keep_file();
  if (!kept_) file_ = nullptr;
}

bool PartitionFile::expect_footer() {
  const Result<FileInfo> info = files_.info(path_);
  kept_ = info.ok() && info->size_bytes >= kTailBytes && open_file(0).ok() && pool_->keep_file();
  if (!kept_) return false;
  expect_around(info->size_bytes - std::min(info->size_bytes, kFooterBytesExpected),
                info->size_bytes);
  return true;
}

void PartitionFile::expect_indexes() {
  const size_t regions = std::min(footer_.regions.size(), kIndexesExpected);
  for (size_t region = 0; region < regions; ++region) {
    const RegionRecord& record = footer_.regions[region];
    const uint64_t bytes = std::min<uint64_t>(record.entries, kPageEntriesMax) * kIndexEntryBytes;
    expect_around(record.index, record.index + kPageHeaderBytes + bytes);
  }
}

Status PartitionFile::open() {
  const Result<FileInfo> info = files_.info(path_);
  if (!info.ok()) return unless_lost(0, info.status());
  const uint64_t size = info->size_bytes;
  if (size < kTailBytes) return damaged(size, "it is shorter than a footer");
  char tail[kTailBytes];
  RETURN_IF_ERROR(read(size - kTailBytes, tail, kTailBytes));
  const Result<uint64_t> offset = decode_footer_offset({tail, kTailBytes}, size);
  if (!offset.ok()) return damaged(size - kTailBytes, offset.status().message());
  std::string bytes(size - *offset, '\0');
  RETURN_IF_ERROR(read(*offset, bytes.data(), bytes.size()));
  Result<PartitionFooter> footer = decode_footer(bytes, size);
  if (!footer.ok()) return damaged(*offset, footer.status().message());
  footer_ = std::move(footer).value();
  expect_indexes();
  rest(true);
  return Status();
}

Result<const std::vector<IndexEntry>*> PartitionFile::page(uint32_t region, uint32_t index) {
  const auto kept = pages_.find({region, index});
  if (kept != pages_.end()) return &kept->second;
  const RegionRecord& record = footer_.regions[region];
  const uint32_t entries = std::min(kPageEntriesMax, record.entries - index * kPageEntriesMax);
  std::string bytes(kPageHeaderBytes + entries * kIndexEntryBytes, '\0');
  const uint64_t offset = record.index + uint64_t{index} * kPageBytesMax;
  RETURN_IF_ERROR(read(offset, bytes.data(), bytes.size()));
  Result<std::vector<IndexEntry>> page = decode_index_page(region, bytes);
  if (!page.ok()) return damaged(offset, page.status().message());
  forget_pages(kIndexBytesMax - kPageBytesMax);
  page_order_.emplace_back(region, index);
  std::vector<IndexEntry>& place = pages_[{region, index}];
  place = std::move(page).value();
  return &place;
}

void PartitionFile::forget_pages(size_t bytes_max) {
  while (page_order_.size() * kPageBytesMax > bytes_max) {
    pages_.erase(page_order_.front());
    page_order_.pop_front();
  }
}

Result<uint32_t> PartitionFile::find_page(uint32_t region, uint32_t pages, uint32_t subpartition) {
  uint32_t low = 0;
  uint32_t high = pages;  // Pages from there on begin behind it.
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const std::vector<IndexEntry>* const entries, page(region, middle));
    (entries->front().subpartition <= subpartition ? low : high) = middle;
  }
  return low;
}

Status PartitionFile::check_entry(const RegionRecord& region, const IndexEntry& entry) const {
  const bool is_possible = entry.bytes > 0 && entry.offset >= region.begin &&
                           entry.offset <= region.index &&
                           entry.bytes <= region.index - entry.offset;
  return is_possible ? Status() : damaged(region.index, "an entry of the index names other bytes");
}

Result<std::vector<IndexEntry>> PartitionFile::find(uint32_t region, uint32_t first,
                                                    uint32_t count) {
  CHECK(region < footer_.regions.size() && count > 0);
  const RegionRecord& record = footer_.regions[region];
  const uint32_t pages = (record.entries + kPageEntriesMax - 1) / kPageEntriesMax;
  std::vector<IndexEntry> found;
  if (record.for_all != 0) {
    ASSIGN_OR_RETURN(const std::vector<IndexEntry>* const entries, page(region, 0));
    found = *entries;
    if (found.size() != 1 || found[0].subpartition != kAllSubpartitions)
      return damaged(record.index, "what is for all is not");
    RETURN_IF_ERROR(check_entry(record, found[0]));
    return found;
  }
  ASSIGN_OR_RETURN(uint32_t at, find_page(region, pages, first));
  for (bool more = true; more && at < pages; ++at) {
    ASSIGN_OR_RETURN(const std::vector<IndexEntry>* const entries, page(region, at));
    auto entry = std::lower_bound(
        entries->begin(), entries->end(), first,
        [](const IndexEntry& e, uint32_t subpartition) { return e.subpartition < subpartition; });
    for (; more && entry != entries->end(); ++entry) {
      more = entry->subpartition - first < count;
      if (!more) break;
      RETURN_IF_ERROR(check_entry(record, *entry));
      found.push_back(*entry);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const IndexEntry& a, const IndexEntry& b) { return a.offset < b.offset; });
  return found;
}

}  // namespace freshet
