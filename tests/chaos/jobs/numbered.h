#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "runtime/api/job.h"
#include "runtime/connectors/data_generator.h"
#include "runtime/connectors/file_sink.h"

/// What all reference jobs are made of: records with a number that no other has, and a mark that
/// shows when any of their bytes came through differently.
namespace chaos_jobs {

inline constexpr uint64_t kHeader = 0xABCD'EAFC'0000'0000;

constexpr uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58'476D'1CE4'E5B9;
  value = (value ^ (value >> 27)) * 0x94D0'49BB'1331'11EB;
  return value ^ (value >> 31);
}

struct Numbered {
  uint64_t magic = 0;  // kHeader in its upper half, a hash of the others in its lower one.
  uint64_t id = 0;
  uint64_t value = 0;
};

constexpr uint64_t magic_of(uint64_t id, uint64_t value) {
  return kHeader | (mixed(id ^ mixed(value)) & 0xFFFF'FFFF);
}

constexpr Numbered numbered(uint64_t id) { return {magic_of(id, mixed(id)), id, mixed(id)}; }

constexpr bool is_whole(const Numbered& record) {
  return record.magic == magic_of(record.id, record.value) && record.value == mixed(record.id);
}

/// `<id> <value>`, so that the first column names the record.
inline void print(const Numbered& record, std::string& line) {
  fmt::format_to(std::back_inserter(line), "{}\t{:016x}{}", record.id, record.value,
                 is_whole(record) ? "" : "\tDAMAGED");
}

/// All records of one key, in a way that shows each that is lost, doubled or damaged.
struct Tally {
  uint64_t key = 0;
  uint64_t count = 0;
  uint64_t sum = 0;  // Of ids.
  uint64_t mix = 0;  // Of values, by xor.
  uint64_t damaged = 0;
};

inline Tally tally_of(const Numbered& record, uint64_t keys) {
  return {record.id % keys, 1, record.id, record.value, is_whole(record) ? 0u : 1u};
}

inline void add(Tally& to, const Tally& more) {
  to.count += more.count;
  to.sum += more.sum;
  to.mix ^= more.mix;
  to.damaged += more.damaged;
}

inline void print(const Tally& tally, std::string& line) {
  fmt::format_to(std::back_inserter(line), "{}\tcount={} sum={} mix={:016x} damaged={}", tally.key,
                 tally.count, tally.sum, tally.mix, tally.damaged);
}

/// What every job asks for.
struct Given {
  explicit Given(freshet::Environment& env)
      : records(static_cast<uint64_t>(env.arguments().integer_or(
            "records", 100'000, "how many the sources give in all", 1, 1'000'000'000'000))),
        rate(static_cast<double>(env.arguments().integer_or(
            "rate", 0, "so many of them per second, by schedule; 0: as fast as it goes", 0,
            1'000'000'000))),
        keys(static_cast<uint64_t>(
            env.arguments().integer_or("keys", 1'000, "different keys", 1, 1'000'000'000))),
        output(env.path(env.arguments().text("output", "a new directory"))) {}

  uint64_t records;
  double rate;
  uint64_t keys;
  std::string output;
};

/// The records `first` to `first + count - 1`.
inline auto records_from(uint64_t first, uint64_t count, double rate) {
  return freshet::data_generator([first](uint64_t index) { return numbered(first + index); }, count,
                                 rate);
}

template <class T>
freshet::Sink<T> lines_in(const std::string& directory) {
  return freshet::file_sink<T>(directory,
                               [](const T& record, std::string& line) { print(record, line); });
}

}  // namespace chaos_jobs
