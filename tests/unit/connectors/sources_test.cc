#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/memory_file_system.h"
#include "runtime/connectors/connector_error.h"
#include "runtime/connectors/data_generator.h"
#include "runtime/connectors/elements.h"
#include "runtime/connectors/line_reader.h"
#include "runtime/connectors/range_batch.h"
#include "runtime/connectors/rate_limiter.h"
#include "runtime/connectors/sequence.h"
#include "tests/unit/connectors/connector_harness.h"

namespace freshet {
namespace {

template <class T>
std::vector<T> run_source(const Source<T>& source, uint32_t readers, uint64_t seed) {
  MemoryFileSystem files;
  FakeContext context(files);
  const auto random = make_seeded_random(seed);
  SourceRun<T> run(source, context, readers, *random);
  EXPECT_TRUE(run.run(50));
  EXPECT_FALSE(run.emitted_too_many());
  return run.values();
}

TEST(SequenceTest, GivesEachNumberOnceToSomeReader) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    auto values = run_source(sequence(-100, 899), 1 + seed % 4, seed);
    std::sort(values.begin(), values.end());
    std::vector<int64_t> wanted(1000);
    std::iota(wanted.begin(), wanted.end(), -100);
    EXPECT_EQ(values, wanted);
  }
}

TEST(SequenceTest, HasSomethingForEachOfManyReaders) {
  constexpr uint64_t kNumbers = 100'000;
  for (const uint32_t readers : {1u, 65u, 200u, 1000u}) {
    MemoryFileSystem files;
    FakeContext context(files);
    const auto enumerator = sequence(1, kNumbers).enumerator->make();
    auto& source = dynamic_cast<SourceOperator&>(*enumerator);
    Received<Split> splits;
    source.open(context, {&splits});
    while (source.poll(1) != PollResult::kEnded) {
      for (uint32_t reader = 0; reader < readers; ++reader) {
        const SplitRequest request{reader, readers};
        source.process(0, &request, kNoTimestamp);
      }
    }
    std::vector<uint64_t> numbers(readers);
    for (const Split& split : splits.values) {
      const NumberRange range = decode_range(split.payload);
      numbers[split.reader] += range.last - range.first + 1;
    }
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), uint64_t{0}), kNumbers);
    const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
    EXPECT_LE(*most - *least, kNumbers / (2 * readers)) << readers;
    source.close();
  }
}

TEST(SequenceTest, KnowsItsBounds) {
  EXPECT_TRUE(run_source(sequence(5, 4), 2, 1).empty());
  EXPECT_EQ(run_source(sequence(5, 5), 2, 1), std::vector<int64_t>{5});
  EXPECT_EQ(run_source(sequence(INT64_MAX - 1, INT64_MAX), 1, 1),
            (std::vector<int64_t>{INT64_MAX - 1, INT64_MAX}));
}

TEST(SequenceTest, CutsTheWholeRangeOfNumbersWithoutGap) {
  const auto supply = make_range_supply(NumberRange{0, UINT64_MAX});
  uint64_t next = 0;
  for (int i = 0; i < 1000; i++) {
    const auto payload = supply->next();
    ASSERT_TRUE(payload);
    const NumberRange range = decode_range(*payload);
    EXPECT_EQ(range.first, next);
    next = range.last + 1;
  }
}

TEST(SplitTest, RefusesWhatIsNoRange) {
  const auto text = [](uint64_t begin, uint64_t end, uint64_t size) {
    return encode_text_range({"/in", begin, end, size});
  };
  EXPECT_EQ(decode_range(encode_range({5, 5})).last, 5u);
  EXPECT_EQ(decode_text_range(text(0, 0, 0)).path, "/in");
  for (const std::string& payload :
       {std::string(), encode_range({6, 5}), encode_range({5, 6}) + "x", text(2, 3, 4)})
    EXPECT_THROW((void)decode_range(payload), CodecError);
  for (const std::string& payload :
       {std::string(), text(3, 2, 4), text(2, 5, 4), text(2, 3, 4) + "x"})
    EXPECT_THROW((void)decode_text_range(payload), CodecError);
}

/// Throws at a value.
class RefusingReceiver final : public RecordReceiver {
 public:
  explicit RefusingReceiver(uint64_t refused) : refused_(refused) {}
  void receive(const void* record, EpochMillis) override {
    if (*static_cast<const uint64_t*>(record) == refused_) throw std::runtime_error("refused");
    ++received;
  }
  uint64_t received = 0;

 private:
  const uint64_t refused_;
};

TEST(RangeBatchTest, GivesEachNumberInOrderHoweverManyAreAskedFor) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    const auto random = make_seeded_random(seed);
    const uint64_t first = random->below(1000);
    NumberRange rest{first, first + random->below(1000)};
    const uint64_t all = rest.last - rest.first + 1;
    Received<uint64_t> received;
    RangeBatch<uint64_t> batch;
    uint64_t count = 0;
    bool more = true;
    while (more) {
      const uint64_t before = count;
      const auto most = static_cast<uint32_t>(1 + random->below(200));
      more = batch.emit(most, &rest, received, &count, [](uint64_t number) { return 2 * number; });
      EXPECT_EQ(count, more ? before + most : all);
    }
    ASSERT_EQ(received.values.size(), all);
    for (uint64_t i = 0; i < all; i++) ASSERT_EQ(received.values[i], 2 * (first + i));
  }
}

TEST(RangeBatchTest, GivesNumbersOfTheWholeRange) {
  NumberRange rest{0, UINT64_MAX};
  Received<uint64_t> received;
  RangeBatch<uint64_t> batch;
  uint64_t count = 0;
  EXPECT_TRUE(batch.emit(100, &rest, received, &count, [](uint64_t number) { return number; }));
  EXPECT_EQ(count, 100u);
  rest.first = UINT64_MAX - 1;
  EXPECT_FALSE(batch.emit(100, &rest, received, &count, [](uint64_t number) { return number; }));
  EXPECT_EQ(count, 102u);
}

TEST(RangeBatchTest, WhatIsMadeBeforeAFailureIsGivenOn) {
  NumberRange rest{0, 999};
  Received<uint64_t> received;
  RangeBatch<uint64_t> batch;
  uint64_t count = 0;
  const auto make = [](uint64_t number) {
    if (number == 70) throw std::runtime_error("not this one");
    return number;
  };
  EXPECT_THROW(batch.emit(100, &rest, received, &count, make), std::runtime_error);
  EXPECT_EQ(received.values.size(), 70u);
  EXPECT_EQ(count, 70u);
}

TEST(RangeBatchTest, CountsWhatWasGivenOnWhenTheReceiverThrows) {
  NumberRange rest{0, 999};
  RefusingReceiver receiver(70);
  RangeBatch<uint64_t> batch;
  uint64_t count = 0;
  EXPECT_THROW(batch.emit(100, &rest, receiver, &count, [](uint64_t number) { return number; }),
               std::runtime_error);
  EXPECT_EQ(receiver.received, 70u);
  EXPECT_EQ(count, 70u);
}

TEST(ElementsTest, GivesValuesInOrder) {
  const std::vector<std::string> values = {"to", "be", "or", "not", "to", "be"};
  const Source<std::string> source = elements(values);
  EXPECT_EQ(source.parallelism_max, 1u);
  EXPECT_TRUE(source.bounded);
  EXPECT_EQ(run_source(source, 1, 3), values);
  EXPECT_TRUE(run_source(elements(std::vector<std::string>()), 1, 3).empty());
}

TEST(SplitReaderTest, TakesNoInputWhileItReads) {
  MemoryFileSystem files;
  FakeContext context(files);
  Received<int64_t> numbers;
  Received<SplitRequest> requests;
  const Source<int64_t> source = sequence(0, 1);
  const auto made = source.reader->make();
  auto& reader = dynamic_cast<SourceOperator&>(*made);
  reader.open(context, {&numbers, &requests});
  EXPECT_EQ(reader.poll(1), PollResult::kWaiting);
  EXPECT_EQ(reader.poll(1), PollResult::kWaiting);
  EXPECT_EQ(requests.values.size(), 1u);
  EXPECT_TRUE(reader.wants_input());
  const Split split{0, encode_range({0, 1})};
  reader.process(0, &split, kNoTimestamp);
  EXPECT_FALSE(reader.wants_input());
  EXPECT_EQ(reader.poll(1), PollResult::kMore);
  EXPECT_EQ(reader.poll(1), PollResult::kWaiting);
  EXPECT_EQ(requests.values.size(), 2u);
  EXPECT_TRUE(reader.wants_input());
  reader.end_input(0);
  EXPECT_EQ(reader.poll(1), PollResult::kEnded);
  EXPECT_EQ(requests.values.size(), 2u);
  EXPECT_EQ(numbers.timestamps, std::vector<EpochMillis>(2, kNoTimestamp));
}

TEST(RateLimiterTest, GivesPlacesExactlyInTime) {
  RateLimiter limiter(10, 0, 1, 5'000);
  uint64_t taken = 0;
  for (EpochMillis now = 5'000; now < 15'000; now += 7) {
    const uint64_t available = limiter.available(now);
    limiter.take(available);
    taken += available;
    EXPECT_EQ(taken, (now - 5'000) / 100 + 1) << now;
  }
}

TEST(RateLimiterTest, ReadersTogetherKeepTheRate) {
  for (const double rate : {0.5, 3.0, 1000.0, 12'345.6}) {
    std::vector<RateLimiter> readers;
    for (uint32_t i = 0; i < 7; i++) readers.emplace_back(rate, i, 7, 0);
    uint64_t all = 0;
    for (EpochMillis now = 0; now <= 20'000; now += 10) {
      for (RateLimiter& reader : readers) {
        const uint64_t available = reader.available(now);
        reader.take(available);
        all += available;
      }
    }
    EXPECT_EQ(all, static_cast<uint64_t>(rate * 20) + 1) << rate;
  }
}

TEST(RateLimiterTest, MakesUpForOneSecondAtMost) {
  RateLimiter limiter(100, 0, 1, 0);
  EXPECT_EQ(limiter.available(500), 51u);
  EXPECT_EQ(limiter.available(60'000), 100u);
  limiter.take(100);
  EXPECT_EQ(limiter.available(60'000), 0u);
  EXPECT_EQ(limiter.available(60'100), 10u);
  RateLimiter slow(0.1, 0, 1, 0);
  EXPECT_EQ(slow.available(1'000'000), 1u);
}

TEST(RateLimiterTest, LosesNoPlaceOfASchedule) {
  RateLimiter limiter(100, 1, 2, 10'000, true);
  EXPECT_EQ(limiter.available(9'000), 0u);
  EXPECT_EQ(limiter.next(9'000), 10'010);
  EXPECT_EQ(limiter.scheduled(0), 10'010);
  EXPECT_EQ(limiter.scheduled(3), 10'070);
  EXPECT_EQ(limiter.available(70'000), 3000u);
  limiter.take(3000);
  EXPECT_EQ(limiter.scheduled(0), 70'010);
  EXPECT_EQ(limiter.available(20'000), 0u);
  EXPECT_EQ(limiter.available(70'010), 1u);
  RateLimiter free(100, 0, 1, 10'000);
  EXPECT_EQ(free.scheduled(0), kNoTimestamp);
}

TEST(RateLimiterTest, GoesOnWhenTheClockGoesBack) {
  RateLimiter limiter(10, 0, 1, 1'000'000);
  limiter.take(limiter.available(1'000'950));
  EXPECT_EQ(limiter.available(500'000), 0u);
  EXPECT_EQ(limiter.available(500'100), 1u);
}

TEST(RateLimiterTest, NextIsWhenOneIsAvailableAndNotTooSoon) {
  for (const double rate : {0.3, 7.0, 99.0, 50'000.0}) {
    RateLimiter limiter(rate, 2, 3, 100);
    EpochMillis now = 100;
    for (int i = 0; i < 200; i++) {
      limiter.take(limiter.available(now));
      const EpochMillis next = limiter.next(now);
      ASSERT_GE(next, now + 10);
      now = next;
      ASSERT_GE(limiter.available(now), 1u) << rate << " " << i;
    }
  }
}

/// One reader of a generator on a clock that the test turns.
class GeneratorRun {
 public:
  explicit GeneratorRun(const Source<uint64_t>& source, uint64_t count,
                        const std::string& schedule_start = "")
      : made_(source.reader->make()), reader_(dynamic_cast<SourceOperator&>(*made_)) {
    context_.settings["source.generator.schedule-start"] = schedule_start;
    reader_.open(context_, {&numbers, &requests_});
    EXPECT_EQ(reader_.poll(128), PollResult::kWaiting);
    const Split split{0, encode_range({0, count - 1})};
    reader_.process(0, &split, kNoTimestamp);
  }

  /// As a task would until `time`; returns how many times it was woken.
  int run_until(EpochMillis time) {
    int wakes = 0;
    while (true) {
      context_.wake_time.reset();
      PollResult result = PollResult::kMore;
      while (result == PollResult::kMore) result = reader_.poll(128);
      if (!context_.wake_time || *context_.wake_time > time) break;
      EXPECT_GT(*context_.wake_time, context_.now);
      context_.now = *context_.wake_time;
      wakes++;
    }
    context_.now = time;
    return wakes;
  }

  void set_time(EpochMillis now) { context_.now = now; }

  Received<uint64_t> numbers;

 private:
  MemoryFileSystem files_;
  FakeContext context_{files_};
  Received<SplitRequest> requests_;
  std::unique_ptr<Operator> made_;
  SourceOperator& reader_;
};

TEST(DataGeneratorTest, GivesAsManyRecordsASecondAsItWasTold) {
  GeneratorRun slow(data_generator([](uint64_t i) { return i * i; }, 1000, 4), 1000);
  EXPECT_EQ(slow.run_until(0), 0);
  EXPECT_EQ(slow.numbers.values, std::vector<uint64_t>{0});
  EXPECT_EQ(slow.run_until(1000), 4);
  EXPECT_EQ(slow.numbers.values, (std::vector<uint64_t>{0, 1, 4, 9, 16}));
  EXPECT_EQ(slow.run_until(60'000), 236);
  EXPECT_EQ(slow.numbers.values.size(), 241u);

  GeneratorRun fast(data_generator([](uint64_t i) { return i; }, 1'000'000, 20'000), 1'000'000);
  EXPECT_EQ(fast.run_until(10'000), 1000) << "it neither spins nor is it late";
  EXPECT_EQ(fast.numbers.values.size(), 200'001u);
}

TEST(DataGeneratorTest, RecordsOfAScheduleHaveTheirTimesHoweverLateTheyCome) {
  const auto source = data_generator([](uint64_t i) { return i; }, 1000, 100);
  GeneratorRun late(source, 1000, "5000");
  late.run_until(4'999);
  EXPECT_TRUE(late.numbers.values.empty());
  late.run_until(5'020);  // It looks each ten milliseconds.
  EXPECT_EQ(late.numbers.timestamps, (std::vector<EpochMillis>{5'000, 5'010}));
  late.set_time(9'000);  // It was held up.
  late.run_until(9'000);
  ASSERT_EQ(late.numbers.values.size(), 401u);
  for (size_t i = 0; i < 401; i++)
    EXPECT_EQ(late.numbers.timestamps[i], 5'000 + static_cast<EpochMillis>(i) * 10);

  GeneratorRun again(source, 1000, "5000");
  again.set_time(9'000);  // As after a failure.
  again.run_until(9'000);
  EXPECT_EQ(again.numbers.timestamps, late.numbers.timestamps);

  GeneratorRun without(source, 1000);
  without.run_until(100);
  EXPECT_EQ(without.numbers.timestamps.back(), kNoTimestamp);
}

TEST(DataGeneratorTest, GivesAllAtOnceWithoutARate) {
  const auto source = data_generator([](uint64_t i) { return i; }, 5000);
  EXPECT_TRUE(source.bounded);
  GeneratorRun run(source, 5000);
  EXPECT_EQ(run.run_until(0), 0);
  EXPECT_EQ(run.numbers.values.size(), 5000u);
  auto values = run_source(source, 3, 5);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values.size(), 5000u);
  EXPECT_EQ(values.back(), 4999u);
  EXPECT_TRUE(run_source(data_generator([](uint64_t i) { return i; }, 0), 2, 1).empty());
  EXPECT_FALSE(data_generator([](uint64_t i) { return i; }, kWithoutEnd).bounded);
}

TEST(DataGeneratorTest, RefusesRatesThatMakeNoSense) {
  for (const double rate : {-1.0, 1e-9, 1e12, double(NAN), double(INFINITY)}) {
    try {
      (void)data_generator([](uint64_t i) { return i; }, 1, rate);
      FAIL() << rate;
    } catch (const ConnectorError& error) {
      EXPECT_NE(std::string(error.what()).find("0 for no limit"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace freshet
