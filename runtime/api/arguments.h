#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace freshet {

/// The job's own arguments: `--input a b`, `--output=DIR`, `--updates`. An option takes all values
/// up to the next one; after a lone `--` everything is a value. Each function says once what an
/// option is; what was given and never asked for is refused when the builder has ended. Throws
/// UsageError that names the option and lists the known ones.
class Arguments {
 public:
  explicit Arguments(const std::vector<std::string>& arguments);

  /// One or more values.
  std::vector<std::string> list(const std::string& name, const std::string& meaning);
  /// None or more values.
  std::vector<std::string> optional_list(const std::string& name, const std::string& meaning);

  /// Exactly one value.
  std::string text(const std::string& name, const std::string& meaning);
  std::string text_or(const std::string& name, const std::string& otherwise,
                      const std::string& meaning);

  int64_t integer(const std::string& name, const std::string& meaning, int64_t minimum = INT64_MIN,
                  int64_t maximum = INT64_MAX);
  int64_t integer_or(const std::string& name, int64_t otherwise, const std::string& meaning,
                     int64_t minimum = INT64_MIN, int64_t maximum = INT64_MAX);

  /// Given or not; takes no value.
  bool flag(const std::string& name, const std::string& meaning);

  /// Whether the option was given at all, with or without values. Does not make it known.
  bool given(const std::string& name) const { return given_.contains(name); }

  /// Refuses what no function above asked for. Called when the builder has ended.
  void check_all_known() const;

 private:
  struct Known {
    std::string usage;  // `--input VALUE...`
    std::string meaning;
  };

  /// The values of an option; none when it was not given.
  const std::vector<std::string>* find(const std::string& name, const char* values,
                                       const std::string& meaning);
  std::optional<std::string> one_value(const std::string& name, const std::string& meaning);
  [[noreturn]] void refuse(const std::string& what) const;

  std::map<std::string, std::vector<std::string>> given_;
  std::vector<std::string> stray_;      // Values before the first option.
  std::map<std::string, Known> known_;  // By name.
};

}  // namespace freshet
