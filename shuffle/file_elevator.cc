#include "shuffle/file_elevator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "shuffle/stored_block.h"

namespace freshet {

FileElevator::FileElevator(Options options) : options_(std::move(options)) {
  options_.pool->add_file();
}

FileElevator::~FileElevator() { options_.pool->remove_file(); }

std::shared_ptr<PartitionReader> FileElevator::read(PartitionReader::Options options) {
  auto reader =
      std::make_shared<PartitionReader>(std::move(options), shared_from_this(), options_.pool);
  {
    MutexLock lock(mutex_);
    reader->serial_ = next_serial_++;
  }
  serve_from_windows(*reader);
  request(reader);
  return reader;
}

/// Nobody else knows the reader yet, so its position is in these hands.
void FileElevator::serve_from_windows(PartitionReader& reader) {
  const PartitionReader::Options& options = reader.options_;
  if (options.count != 1 || options.next_element != 0) return;
  Windows windows;
  uint32_t regions = 0;
  {
    MutexLock lock(mutex_);
    regions = regions_;
    for (const auto& window : windows_) {
      if (window->covers(options.subpartition)) windows.push_back(window);
    }
  }
  PartitionReader::Position& position = reader.position_;
  while (!windows.empty() && reader.wants() && options_.pool->available()) {
    const auto window = std::find_if(windows.begin(), windows.end(), [&](const auto& each) {
      return each->region() == position.region;
    });
    if (window == windows.end()) return;
    if (const auto part = (*window)->find(options.subpartition)) {
      auto blocks = cut(part->entry.subpartition, part->entry.offset, part->bytes);
      // Whoever reads the file says what is wrong with it.
      if (!blocks.ok() || blocks->back().offset + blocks->back().size != part->entry.end()) return;
      position.elements += part->entry.elements;
      position.skips = false;
      reader.deliver(std::move(blocks).value());
    }
    if (++position.region == regions) return reader.end(position.elements);
  }
}

bool FileElevator::take_at_hand(uint32_t subpartition, std::vector<Buffer>* buffers) {
  std::array<std::shared_ptr<const ReadWindow>, kWindowsMax> windows;
  uint32_t regions = 0;
  {
    MutexLock lock(mutex_);
    regions = regions_;
    if (regions == 0 || windows_.size() < regions) return false;
    for (const auto& window : windows_) {
      if (!window->covers(subpartition)) return false;
      windows[window->region()] = window;
    }
  }
  if (!options_.pool->available()) return false;
  const size_t before = buffers->size();
  uint64_t elements = 0;
  for (uint32_t region = 0; region < regions; ++region) {
    if (take_part(*windows[region], subpartition, &elements, buffers)) continue;
    buffers->erase(buffers->begin() + static_cast<std::ptrdiff_t>(before), buffers->end());
    return false;
  }
  return true;
}

/// Whoever reads the file says what is wrong with it.
bool FileElevator::take_part(const ReadWindow& window, uint32_t subpartition, uint64_t* elements,
                             std::vector<Buffer>* buffers) const {
  const auto part = window.find(subpartition);
  if (!part) return true;
  if (part->entry.subpartition == kAllSubpartitions && !written_to_all()) return false;
  std::string_view bytes = part->bytes;
  const uint64_t end = *elements + part->entry.elements;
  while (!bytes.empty()) {
    const Result<BlockHeader> header = decode_block_header(bytes);
    if (!header.ok() || kBlockHeaderBytes + header->stored_bytes > bytes.size() ||
        header->first_element != *elements)
      return false;
    Result<Buffer> buffer = decode_stored_block(*header, bytes, window.memory(),
                                                part->entry.subpartition, *options_.pool);
    if (!buffer.ok()) return false;
    buffers->push_back(std::move(buffer).value());
    *elements += header->elements_started;
    bytes.remove_prefix(kBlockHeaderBytes + header->stored_bytes);
  }
  return *elements == end;
}

Status FileElevator::damaged(uint64_t offset, std::string_view what) const {
  return data_loss(fmt::format("{}: {} (at offset {})", options_.path, what, offset));
}

void FileElevator::request(const Reader& reader) {
  MutexLock lock(mutex_);
  switch (reader->hands_) {
    case Hands::kNone:
      if (!reader->wants()) return;
      break;
    case Hands::kQueued:
      return;
    case Hands::kParked:
      if (!reader->waits()) return;
      parked_.erase(reader->serial_);
      break;
  }
  reader->hands_ = Hands::kQueued;
  came_.push_back(reader);
  post_run();
}

void FileElevator::post_run() {
  if (posted_) return;
  posted_ = true;
  options_.executor->post("read_partition", [self = shared_from_this()] { self->run(); });
}

void FileElevator::on_memory() {
  std::vector<Reader> readers;  // Perhaps the last to own them: not under the lock.
  MutexLock lock(mutex_);
  for (const auto& [serial, here] : parked_) {
    Reader reader = here.lock();
    if (!reader) continue;
    reader->hands_ = Hands::kQueued;
    came_.push_back(reader);
    readers.push_back(std::move(reader));
  }
  parked_.clear();
  if (!came_.empty()) post_run();
}

void FileElevator::run() {
  if (open_file()) {
    const bool was_idle = sweep_.empty() && next_sweep_.empty();
    // What the disk has to bring first it brings while other files have their turn.
    const bool has_time = admit() && was_idle && file_->stays_open();
    if (!has_time) {
      if (sweep_.empty()) sweep_.swap(next_sweep_);
      const std::vector<Part> parts = next_run();
      if (!parts.empty()) read_run(parts);
    }
    file_->rest(sweep_.empty() && next_sweep_.empty());
  }
  // One of them, and then whatever else the executor has to do.
  MutexLock lock(mutex_);
  posted_ = false;
  if (!sweep_.empty() || !next_sweep_.empty() || !came_.empty()) post_run();
}

bool FileElevator::open_file() {
  if (is_open_) return true;
  if (!file_) {
    file_ = std::make_unique<PartitionFile>(*options_.files, options_.path, options_.pool);
    if (file_->expect_footer()) return false;
  }
  const Status status = file_->open();
  if (status.ok()) {
    is_open_ = true;
    to_all_.store(file_->footer().to_all, std::memory_order_release);
    MutexLock lock(mutex_);
    regions_ = static_cast<uint32_t>(file_->footer().regions.size());
    return !file_->stays_open();  // Else the disk has time to bring the index.
  }
  file_ = nullptr;
  note_lost(status);
  std::vector<ReaderHere> came;
  {
    MutexLock lock(mutex_);
    came.swap(came_);
  }
  for (const ReaderHere& here : came) {
    const Reader reader = here.lock();
    if (!reader) continue;
    reader->fail(status);
    let_go(reader);
  }
  return false;
}

bool FileElevator::admit() {
  std::vector<ReaderHere> came;
  {
    MutexLock lock(mutex_);
    came.swap(came_);
  }
  for (const ReaderHere& here : came) {
    if (const Reader reader = here.lock()) place(reader);
  }
  return !came.empty();
}

void FileElevator::note_lost(const Status& status) const {
  if (!status.ok() && is_partition_lost(status) && options_.on_lost) options_.on_lost();
}

void FileElevator::place(const Reader& reader) {
  if (!reader->wants()) return let_go(reader);
  const Status status = advance(*reader);
  note_lost(status);
  if (!status.ok()) reader->fail(status);
  PartitionReader::Position& position = reader->position_;
  if (position.wanted.empty()) {
    if (status.ok()) reader->end(position.elements);
    return let_go(reader);
  }
  expect_wanted(*reader);
  next_sweep_.emplace(position.offset, reader);
}

/// While the others have their turn.
void FileElevator::expect_wanted(PartitionReader& reader) {
  PartitionReader::Position& position = reader.position_;
  uint64_t begin = position.offset;
  uint64_t ahead = 0;
  for (size_t i = 0; i < position.wanted.size() && ahead < kExpectedBytes; ++i) {
    PartitionReader::Wanted& wanted = position.wanted[i];
    if (i != 0) begin = wanted.entry.offset;
    const uint64_t end = std::min(wanted.entry.end(), begin + (kExpectedBytes - ahead));
    const uint64_t from = std::max(begin, wanted.expected);
    // Not a little more each time.
    if (end > from && (end == wanted.entry.end() || end - from >= kExpectedBytes / 4)) {
      file_->expect(from, end - from);
      wanted.expected = end;
    }
    ahead += wanted.entry.end() - begin;
  }
}

Status FileElevator::advance(PartitionReader& reader) {
  PartitionReader::Position& position = reader.position_;
  const PartitionReader::Options& options = reader.options_;
  const PartitionFooter& footer = file_->footer();
  if (uint64_t{options.subpartition} + options.count > footer.subpartitions) {
    return invalid_argument(fmt::format("{}: it has {} subpartitions, {} is not among them",
                                        options_.path, footer.subpartitions,
                                        options.subpartition + (options.count - 1)));
  }
  if (position.wanted.empty()) {
    RETURN_IF_ERROR(position.ahead);
    RETURN_IF_ERROR(look_ahead(reader));
    if (!position.wanted.empty()) position.offset = position.wanted.front().entry.offset;
  }
  const bool ends_soon = position.wanted.size() == 1 &&
                         position.wanted.front().entry.end() - position.offset < kExpectedBytes / 2;
  if (ends_soon && position.ahead.ok()) position.ahead = look_ahead(reader);
  return Status();
}

Status FileElevator::look_ahead(PartitionReader& reader) {
  PartitionReader::Position& position = reader.position_;
  const PartitionReader::Options& options = reader.options_;
  const PartitionFooter& footer = file_->footer();
  for (bool found = false; !found && position.region < footer.regions.size();) {
    const uint32_t region = position.region;
    ASSIGN_OR_RETURN(const std::vector<IndexEntry> entries,
                     file_->find(region, options.subpartition, options.count));
    ++position.region;
    for (const IndexEntry& entry : entries) {
      const bool for_all = entry.subpartition == kAllSubpartitions;
      position.elements += uint64_t{entry.elements} * (for_all ? options.count : 1);
      position.skips = position.skips && position.elements <= options.next_element &&
                       (!for_all || footer.to_all);
      if (position.skips) {
        reader.skip(entry);
      } else {
        position.wanted.push_back({entry, region, entry.offset});
        found = true;
      }
    }
  }
  return Status();
}

void FileElevator::let_go(const Reader& reader) {
  MutexLock lock(mutex_);
  // It may have taken something meanwhile, and asked in vain.
  if (reader->wants()) {
    came_.push_back(reader);
  } else {
    reader->hands_ = Hands::kNone;
  }
}

void FileElevator::park(const Reader& reader) {
  MutexLock lock(mutex_);
  reader->hands_ = Hands::kParked;
  parked_[reader->serial_] = reader;
}

std::vector<FileElevator::Part> FileElevator::next_run() {
  const bool has_memory = options_.pool->available();
  bool parked = false;
  std::vector<Part> parts;
  size_t total = 0;
  while (!sweep_.empty()) {
    const auto first = sweep_.begin();
    const Reader reader = first->second.lock();
    if (!reader) {
      sweep_.erase(first);
      continue;
    }
    const bool may_read = has_memory || reader->waits();
    if (!may_read && parts.empty()) {
      park(reader);
      parked = true;
      sweep_.erase(first);
      continue;
    }
    if (parts.empty() && may_read && give_from_window(reader)) {
      sweep_.erase(first);
      continue;
    }
    const bool is_behind = parts.empty() || first->first == parts.back().offset + parts.back().size;
    const size_t most = has_memory ? ReadPool::kRunBytesMax - total : kLargeBlockBytes;
    if (!may_read || !is_behind || most < kLargeBlockBytes) break;
    const PartitionReader::Position& position = reader->position_;
    const uint64_t rest = position.wanted.front().entry.end() - position.offset;
    const uint64_t size = std::min<uint64_t>({rest, most, options_.pool->read_ahead_bytes()});
    parts.push_back({reader, position.offset, static_cast<size_t>(size)});
    total += parts.back().size;
    sweep_.erase(first);
    if (!has_memory) break;
  }
  if (parked) {
    options_.pool->wait(weak_from_this());
    if (options_.pool->available()) on_memory();  // It came back before that.
  }
  return parts;
}

/// What was read meanwhile for somebody else.
bool FileElevator::give_from_window(const Reader& reader) {
  const PartitionReader::Position& position = reader->position_;
  const auto& [entry, region, expected] = position.wanted.front();
  if (position.offset != entry.offset) return false;
  const uint32_t subpartition = entry.subpartition == kAllSubpartitions ? 0 : entry.subpartition;
  std::shared_ptr<const ReadWindow> window;
  {
    MutexLock lock(mutex_);
    const auto found = std::find_if(windows_.begin(), windows_.end(), [&](const auto& each) {
      return each->region() == position.wanted.front().region && each->covers(subpartition);
    });
    if (found == windows_.end()) return false;
    window = *found;
  }
  const auto part = window->find(subpartition);
  if (!part) return false;
  const Status status = give({reader, position.offset, part->bytes.size()}, part->bytes);
  if (!status.ok()) reader->fail(status);
  place(reader);
  return true;
}

size_t FileElevator::widen(const Part& first, size_t size) const {
  const PartitionReader::Position& position = first.reader->position_;
  const PartitionReader::Wanted& wanted = position.wanted.front();
  const bool from_its_begin = first.offset == wanted.entry.offset;
  const std::vector<RegionRecord>& regions = file_->footer().regions;
  if (!from_its_begin || regions.size() > kWindowsMax) return size;
  const uint64_t end = regions[wanted.region].index;
  const uint64_t wide =
      std::min(options_.pool->window_bytes() / regions.size(), end - first.offset);
  return std::max(size, static_cast<size_t>(wide));
}

void FileElevator::read_run(const std::vector<Part>& parts) {
  const PartitionReader::Wanted first = parts.front().reader->position_.wanted.front();
  const uint64_t begin = parts.front().offset;
  const auto size = static_cast<size_t>(parts.back().offset + parts.back().size - begin);
  const size_t wide = widen(parts.front(), size);
  const bool for_all = first.entry.subpartition == kAllSubpartitions;
  const bool keep = (wide > size || for_all) &&
                    first.entry.bytes <= std::min<uint64_t>(wide, options_.pool->window_bytes());
  std::unique_ptr<char[]> scratch = options_.pool->take_scratch();
  pass_mark(options_.faults, "spill.before_read");
  const Status status = file_->read(begin, scratch.get(), wide);
  note_lost(status);
  if (status.ok() && keep) keep_window(first, {scratch.get(), wide});
  for (const Part& part : parts) {
    Status given = status;
    if (given.ok()) given = give(part, {scratch.get() + (part.offset - begin), part.size});
    if (!given.ok()) part.reader->fail(given);
    place(part.reader);
  }
  options_.pool->give_scratch(std::move(scratch));
}

void FileElevator::keep_window(const PartitionReader::Wanted& wanted, std::string_view bytes) {
  const auto& [first, region, expected] = wanted;
  const bool for_all = first.subpartition == kAllSubpartitions;
  const uint32_t subpartitions = file_->footer().subpartitions;
  const uint32_t from = for_all ? 0 : first.subpartition;
  // About as many as there are, if they are as large as the first.
  const auto entries_max = static_cast<uint32_t>(bytes.size() / first.bytes * 3 / 2 + 2);
  const uint32_t end = for_all ? subpartitions : std::min(subpartitions - from, entries_max) + from;
  Windows dropped;
  {
    MutexLock lock(mutex_);
    std::erase_if(windows_, [&](auto& window) {
      if (window->region() != wanted.region) return false;
      dropped.push_back(std::move(window));
      return true;
    });
  }
  dropped.clear();
  Result<std::vector<IndexEntry>> entries = file_->find(region, from, end - from);
  if (!entries.ok()) return;  // Whoever needs one of them hears of it.
  std::sort(entries->begin(), entries->end(), [](const IndexEntry& a, const IndexEntry& b) {
    return a.subpartition < b.subpartition;
  });
  auto window = ReadWindow::make(*options_.pool, region, first.offset, bytes,
                                 std::move(entries).value(), from, end);
  if (!window) return;
  MutexLock lock(mutex_);
  windows_.push_back(std::move(window));
}

Status FileElevator::give(const Part& part, std::string_view bytes) {
  PartitionReader::Position& position = part.reader->position_;
  ASSIGN_OR_RETURN(std::vector<PartitionReader::Stored> blocks,
                   cut(position.wanted.front().entry.subpartition, position.offset, bytes));
  position.offset = blocks.back().offset + blocks.back().size;
  if (position.offset == position.wanted.front().entry.end()) {
    (void)position.wanted.pop_front();
    if (!position.wanted.empty()) position.offset = position.wanted.front().entry.offset;
  }
  part.reader->deliver(std::move(blocks));
  return Status();
}

Result<std::vector<PartitionReader::Stored>> FileElevator::cut(uint32_t subpartition,
                                                               uint64_t offset,
                                                               std::string_view bytes) const {
  std::vector<PartitionReader::Stored> blocks;
  while (bytes.size() >= kBlockHeaderBytes) {
    const Result<BlockHeader> header = decode_block_header(bytes);
    if (!header.ok()) return damaged(offset, header.status().message());
    const auto size = static_cast<uint32_t>(kBlockHeaderBytes) + header->stored_bytes;
    if (size > bytes.size()) break;  // The next run begins with it.
    const BlockRef block = options_.pool->allocate(size);
    std::memcpy(block->data(), bytes.data(), size);
    blocks.push_back({block, size, subpartition, offset});
    offset += size;
    bytes.remove_prefix(size);
  }
  if (blocks.empty()) return damaged(offset, "a block goes beyond what there is of it");
  return blocks;
}

}  // namespace freshet
