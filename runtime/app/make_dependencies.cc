#include "runtime/app/make_dependencies.h"

namespace freshet {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

}  // namespace

std::vector<std::string> parse_make_dependencies(std::string_view rule) {
  std::vector<std::string> files;
  const size_t colon = rule.find(": ");
  if (colon == std::string_view::npos) return files;
  std::string file;
  const auto end_file = [&] {
    if (!file.empty()) files.push_back(std::move(file));
    file.clear();
  };
  for (size_t i = colon + 1; i < rule.size(); i++) {
    const char c = rule[i];
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (c == '\\' && next == '\n') {
      end_file();
    } else if ((c == '\\' && (next == ' ' || next == '#')) || (c == '$' && next == '$')) {
      file += next;
      i++;
    } else if (is_blank(c)) {
      end_file();
    } else {
      file += c;
    }
  }
  end_file();
  return files;
}

}  // namespace freshet
