#pragma once

#include <poll.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "runtime/connectors/split_source.h"

namespace gated {

/// Reads numbers up to `free`, and those above it only once the file `gate` exists: a job that
/// reads them is in the middle of its work until a test opens the gate, on a machine of any speed.
class GatedReader final : public freshet::SplitReader {
 public:
  GatedReader(uint64_t free, std::string gate) : free_(free), gate_(std::move(gate)) {}

 protected:
  void open_split(const std::string& payload) override { rest_ = freshet::decode_range(payload); }

  bool read(uint32_t max_records, freshet::RecordReceiver& to, uint64_t* count) override {
    for (uint32_t i = 0; i < max_records; i++) {
      if (rest_.first > free_ && !is_open()) {
        ::poll(nullptr, 0, kPollMillis);
        return true;
      }
      const auto number = static_cast<int64_t>(rest_.first);
      to.receive(&number, freshet::kNoTimestamp);
      ++*count;
      if (rest_.first++ == rest_.last) return false;
    }
    return true;
  }

 private:
  static constexpr int kPollMillis = 2;

  bool is_open() {
    open_ = open_ || gate_.empty() || std::filesystem::exists(gate_);
    return open_;
  }

  const uint64_t free_;
  const std::string gate_;
  bool open_ = false;
  freshet::NumberRange rest_;
};

/// The numbers from 1 to `last`; those of the second half wait for the gate. Without a name of a
/// gate nothing waits.
inline freshet::Source<int64_t> gated_sequence(int64_t last, const std::string& gate) {
  const auto end = static_cast<uint64_t>(last);
  freshet::Source<int64_t> source;
  source.name = "gated sequence";
  source.blocking = true;
  source.enumerator = freshet::make_enumerator_factory([end] {
    return freshet::make_range_supply(freshet::NumberRange{1, end});
  });
  source.reader = freshet::make_reader_factory(
      [end, gate] { return std::make_unique<GatedReader>(end / 2, gate); });
  return source;
}

}  // namespace gated
