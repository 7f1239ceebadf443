#include "runtime/chaos/output_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/chaos/output_lines.h"
#include "runtime/chaos/record_counts.h"

namespace freshet::chaos {

namespace {

/// By it records are divided when there are too many for one pass: those of one id stay together as
/// long as that is possible.
uint64_t key_of(const RecordCounts::Entry& entry) {
  return (entry.id & ~0xffff'ffffull) | entry.hash.high >> 32;
}

uint64_t key_of(const OutputLine& line) {
  return (line.id_hash & ~0xffff'ffffull) | line.hash.high >> 32;
}

std::string shown_line(const OutputLine& line) {
  std::string text = printable(line.head);
  if (line.size > line.head.size()) text += fmt::format(" (of {} bytes)", line.size);
  return line.ended ? text : text + " (without line end)";
}

/// What is wrong with the records of one id. There may be as many as records.
struct WrongId {
  uint64_t id = 0;
  uint32_t lost = 0;
  uint32_t invented = 0;
  uint32_t lost_seen = 0;
  uint32_t invented_seen = 0;

  uint32_t altered() const { return std::min(lost, invented); }
};

class Comparison {
 public:
  Comparison(std::string expected, std::string actual, FileSystem& files, size_t entries_max)
      : directories_{std::move(expected), std::move(actual)},
        files_(files),
        entries_max_(entries_max) {}

  Result<OutputVerdict> run() {
    for (int side = 0; side < 2; side++) {
      ASSIGN_OR_RETURN(OutputFiles found, list_output(directories_[side], files_));
      names_[side] = std::move(found.names);
      if (side == kActual) verdict_.leftovers = std::move(found.leftovers);
    }
    std::optional<KeyPart> part = KeyPart{};
    for (bool first = true; part; first = false) {
      part_ = *part;
      RETURN_IF_ERROR(count(first));
      RETURN_IF_ERROR(judge());
      part = part_.next();
    }
    sort_shown();
    return std::move(verdict_);
  }

 private:
  static constexpr int kExpected = 0;
  static constexpr int kActual = 1;

  using Use = std::function<bool(const OutputLine&, const std::string& file)>;

  /// All lines of one side that are in the part; `use` says whether to go on.
  Status for_each_line(int side, bool all, const Use& use) {
    bool more = true;
    for (const std::string& name : names_[side]) {
      if (!more) break;
      RETURN_IF_ERROR(
          scan_lines(directories_[side] + "/" + name, files_, [&](const OutputLine& line) {
            if (all || part_.has(key_of(line))) more = use(line, name);
            return more;
          }));
    }
    return Status();
  }

  /// One pass over both sides. The part becomes smaller when memory does not suffice.
  Status count(bool first) {
    counts_.clear();
    for (int side = 0; side < 2; side++) {
      uint64_t records = 0;
      RETURN_IF_ERROR(for_each_line(side, first, [&](const OutputLine& line, const std::string&) {
        records++;
        if (part_.has(key_of(line))) count_line(side, line);
        return true;
      }));
      if (first)
        (side == kExpected ? verdict_.expected_records : verdict_.actual_records) = records;
    }
    return Status();
  }

  void count_line(int side, const OutputLine& line) {
    RecordCounts::Entry& entry = counts_.at(line.hash, line.id_hash);
    (side == kExpected ? entry.expected : entry.actual)++;
    while (counts_.size() > entries_max_) {
      const auto half = part_.first_half();
      if (!half) return;  // Its entries differ in bits that do not divide.
      part_ = *half;
      counts_.retain([&](const RecordCounts::Entry& one) { return part_.has(key_of(one)); });
    }
  }

  Status judge() {
    unmet_[kExpected] = unmet_[kActual] = 0;
    counts_.for_each([&](const RecordCounts::Entry& entry) {
      if (entry.expected > entry.actual) unmet_[kExpected]++;
      if (entry.expected < entry.actual) unmet_[kActual]++;
    });
    if (unmet_[kExpected] + unmet_[kActual] == 0) return Status();
    judge_ids();
    std::fill(std::begin(shown_), std::end(shown_), std::vector<WrongRecord>());
    awaited_.clear();
    RETURN_IF_ERROR(find_texts());
    for (const RecordFault fault : kRecordFaults) {
      auto& found = shown_[static_cast<size_t>(fault)];
      verdict_.shown.insert(verdict_.shown.end(), found.begin(), found.end());
    }
    return Status();
  }

  void judge_ids() {
    wrong_.clear();
    wrong_.reserve(unmet_[kExpected] + unmet_[kActual]);
    counts_.for_each([&](const RecordCounts::Entry& entry) {
      if (entry.expected > entry.actual) {
        wrong_.push_back({.id = entry.id, .lost = entry.expected - entry.actual});
      } else if (entry.expected == 0) {
        wrong_.push_back({.id = entry.id, .invented = entry.actual});
      } else {
        add(RecordFault::kDoubled, entry.actual - entry.expected);
      }
    });
    std::sort(wrong_.begin(), wrong_.end(),
              [](const WrongId& a, const WrongId& b) { return a.id < b.id; });
    size_t kept = 0;
    for (const WrongId& one : wrong_) {
      if (kept == 0 || wrong_[kept - 1].id != one.id) {
        wrong_[kept++] = one;
        continue;
      }
      wrong_[kept - 1].lost += one.lost;
      wrong_[kept - 1].invented += one.invented;
    }
    wrong_.resize(kept);
    for (const WrongId& one : wrong_) {
      add(RecordFault::kAltered, one.altered());
      add(RecordFault::kLost, one.lost - one.altered());
      add(RecordFault::kInvented, one.invented - one.altered());
    }
  }

  WrongId& wrong_of(uint64_t id) {
    return *std::lower_bound(wrong_.begin(), wrong_.end(), id,
                             [](const WrongId& one, uint64_t wanted) { return one.id < wanted; });
  }

  void add(RecordFault fault, uint64_t count) {
    verdict_.counts[static_cast<size_t>(fault)] += count;
  }

  /// A second pass: the texts of what differs, until all was met. An entry whose record was met
  /// becomes equal.
  Status find_texts() {
    if (unmet_[kExpected] > 0) {
      RETURN_IF_ERROR(
          for_each_line(kExpected, false, [&](const OutputLine& line, const auto& file) {
            RecordCounts::Entry* entry = counts_.find(line.hash);
            if (entry == nullptr || entry->expected <= entry->actual) return true;
            show_missing(*entry, line, {file, line.number});
            entry->actual = entry->expected;
            return --unmet_[kExpected] > 0;
          }));
    }
    if (unmet_[kActual] == 0) return Status();
    return for_each_line(kActual, false, [&](const OutputLine& line, const auto& file) {
      RecordCounts::Entry* entry = counts_.find(line.hash);
      if (entry == nullptr || entry->actual <= entry->expected) return true;
      show_unexpected(*entry, line, {file, line.number});
      entry->expected = entry->actual;
      return --unmet_[kActual] > 0;
    });
  }

  WrongRecord* show(RecordFault fault, const RecordCounts::Entry& entry) {
    auto& shown = shown_[static_cast<size_t>(fault)];
    if (shown.size() >= kShownMax) return nullptr;
    WrongRecord record;
    record.fault = fault;
    record.expected_copies = entry.expected;
    record.actual_copies = entry.actual;
    shown.push_back(std::move(record));
    return &shown.back();
  }

  void show_missing(const RecordCounts::Entry& entry, const OutputLine& line, RecordPlace place) {
    WrongId& id = wrong_of(entry.id);
    const bool altered = id.lost_seen < id.altered();
    id.lost_seen += entry.expected - entry.actual;
    WrongRecord* record = show(altered ? RecordFault::kAltered : RecordFault::kLost, entry);
    if (record == nullptr) return;
    record->expected = shown_line(line);
    record->expected_place = std::move(place);
    if (altered)
      awaited_[entry.id].push_back(shown_[static_cast<size_t>(RecordFault::kAltered)].size() - 1);
  }

  void show_unexpected(const RecordCounts::Entry& entry, const OutputLine& line,
                       RecordPlace place) {
    WrongRecord* record = nullptr;
    if (entry.expected > 0) {
      record = show(RecordFault::kDoubled, entry);
      if (record != nullptr) record->expected = shown_line(line);
    } else {
      WrongId& id = wrong_of(entry.id);
      const bool altered = id.invented_seen < id.altered();
      id.invented_seen += entry.actual;
      if (!altered) {
        record = show(RecordFault::kInvented, entry);
      } else {
        record = take_awaited(entry.id);
        if (record != nullptr) record->actual_copies = entry.actual;
      }
    }
    if (record == nullptr) return;
    record->actual = shown_line(line);
    record->actual_place = std::move(place);
  }

  /// The next altered record of an id that is shown without what it became; null: none.
  WrongRecord* take_awaited(uint64_t id) {
    const auto awaited = awaited_.find(id);
    if (awaited == awaited_.end() || awaited->second.empty()) return nullptr;
    const size_t index = awaited->second.front();
    awaited->second.pop_front();
    return &shown_[static_cast<size_t>(RecordFault::kAltered)][index];
  }

  /// The first ones of each kind, as they lie in the files.
  void sort_shown() {
    const auto rank = [](const WrongRecord& record) {
      const bool missing = record.expected_place.line > 0;
      const RecordPlace& place = missing ? record.expected_place : record.actual_place;
      return std::tie(record.fault, place.file, place.line);
    };
    std::stable_sort(verdict_.shown.begin(), verdict_.shown.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    size_t of_kind[4] = {};
    std::erase_if(verdict_.shown, [&](const WrongRecord& record) {
      return of_kind[static_cast<size_t>(record.fault)]++ >= kShownMax;
    });
  }

  const std::string directories_[2];
  FileSystem& files_;
  const size_t entries_max_;
  std::vector<std::string> names_[2];
  KeyPart part_;
  RecordCounts counts_;
  uint64_t unmet_[2] = {};      // Records that differ and whose texts are not known.
  std::vector<WrongId> wrong_;  // Sorted.
  /// Altered records that are shown, without what they became, by their id.
  std::map<uint64_t, std::deque<size_t>> awaited_;
  std::vector<WrongRecord> shown_[4];  // Of this part.
  OutputVerdict verdict_;
};

}  // namespace

Result<OutputVerdict> compare_outputs(const std::string& expected_directory,
                                      const std::string& actual_directory, FileSystem& files,
                                      const OutputCheckOptions& options) {
  CHECK(options.records_in_memory >= 1);
  return Comparison(expected_directory, actual_directory, files, options.records_in_memory).run();
}

}  // namespace freshet::chaos
