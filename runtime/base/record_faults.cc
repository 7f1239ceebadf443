#include "runtime/base/record_faults.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "runtime/base/log.h"

namespace freshet {

namespace {

class FaultsWithRecords final : public Faults {
 public:
  FaultsWithRecords(std::unique_ptr<Faults> marks, std::unique_ptr<RecordFaults> records)
      : marks_(std::move(marks)), records_(std::move(records)) {}

  void at(std::string_view mark) override {
    if (marks_ != nullptr) marks_->at(mark);
  }
  RecordFaults* records() override { return records_.get(); }

 private:
  const std::unique_ptr<Faults> marks_;
  const std::unique_ptr<RecordFaults> records_;
};

}  // namespace

Result<std::unique_ptr<RecordFaults>> RecordFaults::parse(const std::string& script) {
  const size_t colon = script.find(':');
  const std::string action = script.substr(0, colon);
  std::string_view number = colon == script.npos ? "" : std::string_view(script).substr(colon + 1);
  const bool again = number.starts_with("every=");
  if (again) number.remove_prefix(6);
  uint64_t n = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
  const bool whole = error == std::errc() && end == number.data() + number.size() && n > 0;
  if (!whole || (action != "lose" && action != "double")) {
    return invalid_argument(fmt::format(
        "'{}' is none of lose:<n>, lose:every=<n>, double:<n> and double:every=<n>, n from 1",
        script));
  }
  return std::make_unique<RecordFaults>(action == "lose" ? Action::kLose : Action::kDouble, n,
                                        again);
}

RecordFaults::Action RecordFaults::next() {
  const uint64_t record = records_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (again_ ? record % number_ != 0 : record != number_) return Action::kNone;
  if (record == number_) {
    LOG_WARN("record_fault",
             {{"action", action_ == Action::kLose ? "lose" : "double"}, {"record", record}});
  }
  return action_;
}

std::unique_ptr<Faults> with_record_faults(std::unique_ptr<Faults> marks,
                                           std::unique_ptr<RecordFaults> records) {
  return std::make_unique<FaultsWithRecords>(std::move(marks), std::move(records));
}

}  // namespace freshet
