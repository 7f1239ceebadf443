#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "shuffle/blocking_partition.h"
#include "shuffle/file_elevator.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace freshet::fuzz {

namespace {

constexpr uint32_t kSubpartitions = 3;
constexpr uint64_t kPoolBytes = 1u << 20;
constexpr size_t kCheckBytes = 8;

/// A disk, and what is on it.
struct Disk {
  ManualClock clock;
  MemoryFileSystem files;
  ManualExecutor executor{clock};
};

/// Records with and without timestamps, events, an element of several blocks, two regions.
std::string sound_file(BlockCodec codec, bool to_all) {
  Disk disk;
  const auto pool = std::make_shared<SegmentPool>(kPoolBytes);
  ResultPartition::Options options;
  options.subpartitions = kSubpartitions;
  BlockingPartition::Context context;
  context.pool = pool;
  context.claim = {RegionBuffer::kLeastBytes, 0};
  context.place = SpillPlace{&disk.files, "/partitions", &disk.executor, {}};
  context.file_name = "a";
  context.codec = codec;
  BlockingPartition partition(options, context);
  if (to_all) partition.write_to_all();
  for (uint32_t i = 0; i < 12; ++i) {
    const std::string text(i == 5 ? 40'000 : i * 9, static_cast<char>('a' + i));
    partition.write(to_all ? 0 : i * i % kSubpartitions, i % 4 == 0 ? kNoTimestamp : i, 0,
                    [&](Encoder& encoder) { encoder.write(text.data(), text.size()); });
    if (i == 7) partition.broadcast_event(ElementKind::kWatermark, "12345678");
  }
  partition.end_of_data();
  disk.executor.run_ready();
  CHECK(partition.published() && partition.published()->ok());
  partition.release();
  disk.executor.run_ready();
  return disk.files.files().begin()->second;
}

/// Makes the check at `begin`, of a header and what belongs to it, right.
void mend(std::string* file, uint64_t begin, uint64_t header_bytes, std::string_view rest) {
  const std::string_view header = std::string_view(*file).substr(begin, header_bytes);
  const uint64_t check = hash_combine(hash_bytes(header.substr(kCheckBytes)), hash_bytes(rest));
  std::memcpy(file->data() + begin, &check, kCheckBytes);
}

/// Makes all checks right, of what lies where it lay in the `sound` file: so that what is wrong is
/// found by those who look at it, if it is.
void mend_all(const std::string& sound, std::string* file) {
  const std::string_view bytes(*file);
  const uint64_t footer_offset = *decode_footer_offset(
      std::string_view(sound).substr(sound.size() - kTailBytes), sound.size());
  const auto footer = *decode_footer(std::string_view(sound).substr(footer_offset), sound.size());
  for (const RegionRecord& region : footer.regions) {
    for (uint64_t at = region.begin; at < region.index;) {
      const BlockHeader header = *decode_block_header(std::string_view(sound).substr(at));
      uint32_t stored = 0;
      std::memcpy(&stored, file->data() + at + 28, sizeof stored);
      mend(file, at, kBlockHeaderBytes, bytes.substr(at + kBlockHeaderBytes, stored));
      at += kBlockHeaderBytes + header.stored_bytes;
    }
    const size_t index_bytes = region.entries * kIndexEntryBytes;
    mend(file, region.index, kPageHeaderBytes,
         bytes.substr(region.index + kPageHeaderBytes, index_bytes));
  }
  mend(file, sound.size() - kTailBytes, kTailBytes,
       bytes.substr(footer_offset, sound.size() - kTailBytes - footer_offset));
}

struct ReadBack {
  Status status;
  uint64_t elements = 0;
  uint64_t hash = 0;
};

ReadBack read(Disk& disk, const std::shared_ptr<ReadPool>& pool, uint32_t first, uint32_t count) {
  const auto elevator = std::make_shared<FileElevator>(
      FileElevator::Options{&disk.files, "/partitions/a", &disk.executor, pool});
  PartitionReader::Options options;
  options.subpartition = first;
  options.count = count;
  const auto reader = elevator->read(options);
  ReadBack read;
  while (!reader->ended()) {
    const auto taken = reader->take();
    read.status = taken.status();
    if (!taken.ok()) break;
    if (*taken) {
      const Buffer& buffer = (*taken)->buffer;
      CHECK((*taken)->subpartition >= first && (*taken)->subpartition < first + count);
      CHECK(buffer.size > 0 && buffer.size <= kBlockPayloadMax && buffer.block);
      // All of it can be read.
      read.hash = hash_combine(read.hash, hash_bytes(buffer.bytes()));
      read.elements += buffer.elements_started;
    } else if (disk.executor.run_ready() == 0) {
      CHECK(reader->ended() || !reader->take().ok());
    }
  }
  reader->close();
  disk.executor.run_ready();
  return read;
}

void check_file(const std::string& file, const std::string* sound) {
  Disk disk;
  const auto pool = ReadPool::create(64u << 10);
  for (const auto& [first, count] : {std::pair{0u, 1u}, {2u, 1u}, {0u, kSubpartitions}}) {
    disk.files.put("/partitions/a", file);
    const ReadBack back = read(disk, pool, first, count);
    CHECK(pool->held_bytes() == 0);
    if (!back.status.ok()) {
      CHECK(back.status.code() == StatusCode::kDataLoss ||
            back.status.code() == StatusCode::kInvalidArgument);
      CHECK(back.status.message().starts_with("/partitions/a: "));
    } else if (sound != nullptr) {
      disk.files.put("/partitions/a", *sound);
      const ReadBack right = read(disk, pool, first, count);
      CHECK(right.status.ok() && right.elements == back.elements && right.hash == back.hash);
    }
  }
}

/// input := which file, then (offset, change)*. A change of 0 ends the file there.
void check_changed(uint8_t which, bool mends, Input input) {
  const auto codec = BlockCodec{static_cast<uint8_t>(which % kBlockCodecs)};
  const std::string sound = sound_file(codec, which % 2 == 1);
  std::string file = sound;
  bool is_cut = false;
  for (int changes = 0; !input.empty() && changes < 64 && !is_cut; ++changes) {
    const size_t at = input.number<uint32_t>() % file.size();
    const uint8_t change = input.byte();
    file[at] = static_cast<char>(file[at] ^ change);
    is_cut = change == 0;
    if (is_cut) file.resize(at);
  }
  if (mends && !is_cut) mend_all(sound, &file);
  check_file(file, mends ? nullptr : &sound);
}

}  // namespace

/// input := u8: how, then the bytes of a file, or changes of one.
void partitions(std::string_view bytes) {
  Input input(bytes);
  const uint8_t how = input.byte();
  if (how == 'f') return check_file(std::string(input.rest()), nullptr);
  if (how == 'n') {
    const Result<BlockCodec> codec = parse_block_codec(input.rest());
    CHECK(codec.ok() ? to_string(*codec) == input.rest()
                     : codec.status().code() == StatusCode::kInvalidArgument);
    return;
  }
  check_changed(how, (how & 0x80) != 0, input);
}

Seeds partitions_seeds() {
  Seeds seeds;
  for (uint8_t codec = 0; codec < kBlockCodecs; ++codec) {
    for (const bool to_all : {false, true}) {
      seeds.push_back("f" + sound_file(BlockCodec{codec}, to_all));
      if (seeds.back().size() > 8000) seeds.pop_back();
    }
    seeds.push_back("n" + std::string(to_string(BlockCodec{codec})));
  }
  for (const uint8_t how : {0, 1, 2, 128, 129}) {
    std::string seed(1, static_cast<char>(how));
    seeds.push_back(seed);
    for (const uint32_t offset : {20u, 30u, 45u})
      seeds.push_back(seed + std::string(reinterpret_cast<const char*>(&offset), 4) + "\x01");
    const uint32_t middle = 700;
    seeds.push_back(seed + std::string(reinterpret_cast<const char*>(&middle), 4) +
                    std::string(1, '\0'));
  }
  return seeds;
}

}  // namespace freshet::fuzz
