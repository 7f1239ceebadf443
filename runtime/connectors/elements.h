#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/connectors/split_source.h"
#include "runtime/operators/source.h"

namespace freshet {

namespace connectors_detail {

template <class T>
class ElementsReader final : public SplitReader {
 public:
  explicit ElementsReader(std::shared_ptr<const std::vector<T>> values)
      : values_(std::move(values)) {}

 protected:
  void open_split(const std::string& payload) override { rest_ = decode_range(payload); }

  bool read(uint32_t max_records, RecordReceiver& to, uint64_t* count) override {
    for (uint32_t i = 0; i < max_records; i++) {
      const T value = values_->at(rest_.first);
      to.receive(&value, kNoTimestamp);
      ++*count;
      if (rest_.first++ == rest_.last) return false;
    }
    return true;
  }

 private:
  std::shared_ptr<const std::vector<T>> values_;
  NumberRange rest_;
};

}  // namespace connectors_detail

/// The given values, in their order: by one reader, as they are few. They are part of the job's
/// builder, so every process has them.
template <class T>
Source<T> elements(std::vector<T> values) {
  const auto shared = std::make_shared<const std::vector<T>>(std::move(values));
  std::optional<NumberRange> all;
  if (!shared->empty()) all = NumberRange{0, shared->size() - 1};
  Source<T> source;
  source.name = "elements";
  source.parallelism_max = 1;
  source.enumerator = make_enumerator_factory([all] { return make_range_supply(all); });
  source.reader = make_reader_factory(
      [shared] { return std::make_unique<connectors_detail::ElementsReader<T>>(shared); });
  return source;
}

}  // namespace freshet
