#include "runtime/chaos/result_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/api/usage_error.h"
#include "runtime/chaos/output_lines.h"

namespace freshet::chaos {

namespace {

using nlohmann::json;

void throw_unless(const Status& status) {
  if (!status.ok()) throw UsageError(status.message());
}

class RecordedCheck final : public ResultCheck {
 public:
  RecordedCheck(const std::vector<std::string>& arguments, const std::vector<SinkOutput>& outputs,
                FileSystem& files)
      : arguments_(arguments), outputs_(outputs), files_(files) {
    for (const SinkOutput& output : outputs) names_.push_back(output.name);
  }

  Arguments& arguments() override { return arguments_; }
  const std::vector<std::string>& sinks() const override { return names_; }

  void for_each(const std::string& sink,
                const std::function<void(std::string_view)>& use) override {
    const auto output = std::find_if(outputs_.begin(), outputs_.end(),
                                     [&](const SinkOutput& one) { return one.name == sink; });
    if (output == outputs_.end()) {
      throw UsageError(fmt::format("no sink that leaves files is called '{}'; there are: {}", sink,
                                   fmt::join(names_, ", ")));
    }
    const auto found = list_output(output->directory, files_);
    throw_unless(found.status());
    uint64_t records = 0;
    for (const std::string& name : found->names) {
      const std::string path = output->directory + "/" + name;
      throw_unless(scan_lines(path, files_, [&](const OutputLine& line) {
        if (line.size > line.head.size()) {
          throw UsageError(fmt::format("{}:{} is longer than a checker can read: {} bytes", path,
                                       line.number, line.size));
        }
        records++;
        use(line.head);
        return true;
      }));
    }
    if (seen_.insert(sink).second) verdict_.actual_records += records;
  }

  void lost(std::string_view record) override { add(RecordFault::kLost, "", record); }
  void doubled(std::string_view record) override { add(RecordFault::kDoubled, record, record); }
  void altered(std::string_view record, std::string_view expected) override {
    add(RecordFault::kAltered, record, expected);
  }
  void invented(std::string_view record) override { add(RecordFault::kInvented, record, ""); }

  Result<OutputVerdict> finish() {
    arguments_.throw_if_refused();
    for (const SinkOutput& output : outputs_) {
      if (!seen_.contains(output.name))
        return user_error(fmt::format("it did not look at the sink '{}'", output.name));
      ASSIGN_OR_RETURN(const OutputFiles found, list_output(output.directory, files_));
      for (const std::string& name : found.leftovers)
        verdict_.leftovers.push_back(output.directory + "/" + name);
    }
    verdict_.expected_records = verdict_.actual_records + verdict_.count(RecordFault::kLost) -
                                verdict_.count(RecordFault::kDoubled) -
                                verdict_.count(RecordFault::kInvented);
    std::stable_sort(verdict_.shown.begin(), verdict_.shown.end(),
                     [](const auto& a, const auto& b) { return a.fault < b.fault; });
    return std::move(verdict_);
  }

 private:
  void add(RecordFault fault, std::string_view actual, std::string_view expected) {
    if (verdict_.counts[static_cast<size_t>(fault)]++ >= kShownMax) return;
    WrongRecord wrong;
    wrong.fault = fault;
    wrong.actual = printable(actual);
    wrong.expected = printable(expected);
    wrong.actual_copies = fault == RecordFault::kLost ? 0 : fault == RecordFault::kDoubled ? 2 : 1;
    wrong.expected_copies = fault == RecordFault::kInvented ? 0 : 1;
    verdict_.shown.push_back(std::move(wrong));
  }

  Arguments arguments_;
  const std::vector<SinkOutput>& outputs_;
  FileSystem& files_;
  std::vector<std::string> names_;
  std::set<std::string> seen_;
  OutputVerdict verdict_;
};

json json_of(const WrongRecord& wrong) {
  return {static_cast<int>(wrong.fault), wrong.expected, wrong.actual, wrong.expected_copies,
          wrong.actual_copies};
}

WrongRecord wrong_record_of(const json& from) {
  WrongRecord wrong;
  wrong.fault = static_cast<RecordFault>(std::clamp(from.at(0).get<int>(), 0, 3));
  wrong.expected = from.at(1).get<std::string>();
  wrong.actual = from.at(2).get<std::string>();
  wrong.expected_copies = from.at(3).get<uint64_t>();
  wrong.actual_copies = from.at(4).get<uint64_t>();
  return wrong;
}

}  // namespace

Result<OutputVerdict> run_checker(const std::function<void(ResultCheck&)>& checker,
                                  const std::vector<std::string>& arguments,
                                  const std::vector<SinkOutput>& outputs, FileSystem& files) {
  constexpr const char* kWho = "the checker of the job";
  try {
    RecordedCheck check(arguments, outputs, files);
    checker(check);
    auto verdict = check.finish();
    if (!verdict.ok()) return verdict.status().with_context(kWho);
    return verdict;
  } catch (const UsageError& error) {
    return user_error(fmt::format("{}: {}", kWho, error.what()));
  } catch (const HelpRequest& request) {
    return user_error(fmt::format("{}: {}", kWho, request.what()));
  } catch (const std::exception& error) {
    return user_error(fmt::format("{} threw: {}", kWho, error.what()));
  } catch (...) {
    return user_error(fmt::format("{} threw something that is no std::exception", kWho));
  }
}

std::string to_text(const OutputVerdict& verdict) {
  json text = {{"expected", verdict.expected_records}, {"actual", verdict.actual_records}};
  text["counts"] = std::vector<uint64_t>(std::begin(verdict.counts), std::end(verdict.counts));
  text["shown"] = json::array();
  for (const WrongRecord& wrong : verdict.shown) text["shown"].push_back(json_of(wrong));
  text["leftovers"] = json::array();
  for (const std::string& path : verdict.leftovers) text["leftovers"].push_back(printable(path));
  return text.dump();
}

Result<OutputVerdict> parse_output_verdict(const std::string& text) {
  OutputVerdict verdict;
  try {
    const json from = json::parse(text);
    verdict.expected_records = from.at("expected").get<uint64_t>();
    verdict.actual_records = from.at("actual").get<uint64_t>();
    for (size_t i = 0; i < std::size(verdict.counts); i++)
      verdict.counts[i] = from.at("counts").at(i).get<uint64_t>();
    for (const json& wrong : from.at("shown")) verdict.shown.push_back(wrong_record_of(wrong));
    verdict.leftovers = from.at("leftovers").get<std::vector<std::string>>();
  } catch (const json::exception& error) {
    return invalid_argument(fmt::format("this is no verdict of a checker: {}", error.what()));
  }
  return verdict;
}

}  // namespace freshet::chaos
