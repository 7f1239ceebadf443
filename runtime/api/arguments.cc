#include "runtime/api/arguments.h"

#include <charconv>

#include "runtime/api/usage_error.h"

namespace freshet {

Arguments::Arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string>* values = &stray_;
  bool only_values = false;
  for (const std::string& argument : arguments) {
    if (only_values || !argument.starts_with("--")) {
      values->push_back(argument);
    } else if (argument == "--") {
      only_values = true;
    } else {
      const size_t equals = argument.find('=');
      values = &given_[argument.substr(2, equals == std::string::npos ? equals : equals - 2)];
      if (equals != std::string::npos) values->push_back(argument.substr(equals + 1));
    }
  }
}

std::vector<std::string> Arguments::list(const std::string& name, const std::string& meaning) {
  const std::vector<std::string>* values = find(name, " VALUE...", meaning);
  if (values != nullptr && !values->empty()) return *values;
  refuse("option --" + name + (values == nullptr ? " is missing" : " needs a value"));
  return {""};
}

std::vector<std::string> Arguments::optional_list(const std::string& name,
                                                  const std::string& meaning) {
  const std::vector<std::string>* values = find(name, " VALUE...", meaning);
  return values == nullptr ? std::vector<std::string>() : *values;
}

std::string Arguments::text(const std::string& name, const std::string& meaning) {
  std::optional<std::string> value = one_value(name, meaning);
  if (value) return *std::move(value);
  refuse("option --" + name + " is missing");
  return "";
}

std::string Arguments::text_or(const std::string& name, const std::string& otherwise,
                               const std::string& meaning) {
  return one_value(name, meaning).value_or(otherwise);
}

int64_t Arguments::integer(const std::string& name, const std::string& meaning, int64_t minimum,
                           int64_t maximum) {
  const std::string digits = text(name, meaning);
  int64_t value = minimum;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < minimum ||
      value > maximum) {
    refuse("option --" + name + " is '" + digits + "', not a whole number from " +
           std::to_string(minimum) + " to " + std::to_string(maximum));
    return minimum;
  }
  return value;
}

int64_t Arguments::integer_or(const std::string& name, int64_t otherwise,
                              const std::string& meaning, int64_t minimum, int64_t maximum) {
  if (find(name, " VALUE", meaning) == nullptr) return otherwise;
  return integer(name, meaning, minimum, maximum);
}

bool Arguments::flag(const std::string& name, const std::string& meaning) {
  const std::vector<std::string>* values = find(name, "", meaning);
  if (values == nullptr) return false;
  if (!values->empty()) {
    refuse("option --" + name + " takes no value, but '" + values->front() + "' follows it");
  }
  return true;
}

void Arguments::refuse(const std::string& what) {
  if (refused_.empty()) refused_ = what;
}

void Arguments::throw_if_refused() const {
  if (given("help") && !known_.contains("help")) throw HelpRequest(usage());
  if (!refused_.empty()) throw UsageError(refused_ + "; " + usage());
}

void Arguments::check_all_known() {
  for (const auto& [name, values] : given_) {
    if (known_.contains(name)) continue;
    const std::string unknown = "there is no option --" + name;
    refused_ += (refused_.empty() ? "" : ", and ") + unknown;
  }
  if (!stray_.empty()) refuse("'" + stray_.front() + "' does not follow an option");
  throw_if_refused();
}

std::string Arguments::usage() const {
  if (known_.empty()) return "the job has no options";
  std::string text = "the job's options:";
  for (const auto& [name, known] : known_) text += "\n  " + known.usage + "  " + known.meaning;
  return text;
}

const std::vector<std::string>* Arguments::find(const std::string& name, const char* values,
                                                const std::string& meaning) {
  known_[name] = {"--" + name + values, meaning};
  const auto at = given_.find(name);
  return at == given_.end() ? nullptr : &at->second;
}

std::optional<std::string> Arguments::one_value(const std::string& name,
                                                const std::string& meaning) {
  const std::vector<std::string>* values = find(name, " VALUE", meaning);
  if (values == nullptr) return std::nullopt;
  if (values->size() == 1) return values->front();
  refuse("option --" + name + " takes one value, not " + std::to_string(values->size()));
  return "";
}

}  // namespace freshet
