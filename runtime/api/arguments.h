#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace freshet {

/// The job's own arguments: `--input a b`, `--output=DIR`, `--updates`. An option takes all values
/// up to the next one; after a lone `--` everything is a value. Each function says once what an
/// option is. When something is wrong it gives a stand-in (an empty text, a list of one, the least
/// number that is allowed), so that the builder goes on and names its other options, too: the job
/// is refused when the builder has ended, with the first thing that was wrong and all options. What
/// was given and never asked for is wrong as well.
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

  /// For what only the job can know: has it refused when the builder has ended.
  void refuse(const std::string& what);

  /// For who runs the builder, when that has ended or thrown. Throws HelpRequest when `--help` was
  /// given and is no option of the job, and UsageError when something was wrong.
  void throw_if_refused() const;
  /// The same; what no function above asked for is wrong, too.
  void check_all_known();

 private:
  struct Known {
    std::string usage;  // `--input VALUE...`
    std::string meaning;
  };

  /// The values of an option; none when it was not given.
  const std::vector<std::string>* find(const std::string& name, const char* values,
                                       const std::string& meaning);
  std::optional<std::string> one_value(const std::string& name, const std::string& meaning);
  std::string usage() const;

  std::map<std::string, std::vector<std::string>> given_;
  std::vector<std::string> stray_;      // Values before the first option.
  std::map<std::string, Known> known_;  // By name.
  std::string refused_;                 // The first thing that was wrong.
};

}  // namespace freshet
