#include "runtime/chaos/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/graph/text_rules.h"

namespace freshet::chaos {

namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }
bool is_leading(char c) { return static_cast<unsigned char>(c) >= 0xc0; }

std::string at(const RecordPlace& place) {
  return place.file.empty() ? "" : fmt::format(" ({}:{})", place.file, place.line);
}

void append_shown(std::string& to, char c, bool utf8) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\\') {
    to += "\\\\";
  } else if (c == '\t') {
    to += "\\t";
  } else if (c == '\n') {
    to += "\\n";
  } else if (c == '\r') {
    to += "\\r";
  } else if (byte < ' ' || byte == 0x7f || (byte >= 0x80 && !utf8)) {
    fmt::format_to(std::back_inserter(to), "\\x{:02x}", byte);
  } else {
    to += c;
  }
}

}  // namespace

std::string_view to_string(RecordFault fault) {
  switch (fault) {
    case RecordFault::kLost:
      return "lost";
    case RecordFault::kDoubled:
      return "doubled";
    case RecordFault::kAltered:
      return "altered";
    case RecordFault::kInvented:
      break;
  }
  return "invented";
}

std::string printable(std::string_view text, size_t bytes_max) {
  std::string_view kept = text.substr(0, bytes_max);
  if (kept.size() < text.size()) {
    size_t end = kept.size();  // Not in the middle of a character.
    for (int i = 0; i < 3 && end > 0 && is_continuation(text[end]); i++) end--;
    if (is_leading(text[end])) kept = text.substr(0, end);
  }
  const bool utf8 = is_plain_text(kept, kept.size());
  std::string shown;
  shown.reserve(kept.size());
  for (const char c : kept) append_shown(shown, c, utf8);
  if (kept.size() < text.size()) shown += fmt::format("... ({} bytes)", text.size());
  return shown;
}

std::string WrongRecord::to_string() const {
  const std::string_view kind = chaos::to_string(fault);
  switch (fault) {
    case RecordFault::kLost:
      if (expected_copies == 1)
        return fmt::format("{}: '{}'{}", kind, expected, at(expected_place));
      return fmt::format("{}: '{}'{}, {} of {} copies", kind, expected, at(expected_place),
                         expected_copies - actual_copies, expected_copies);
    case RecordFault::kDoubled:
      return fmt::format("{}: '{}'{}, {} copies instead of {}", kind, actual, at(actual_place),
                         actual_copies, expected_copies);
    case RecordFault::kAltered:
      return fmt::format("{}: '{}'{} instead of '{}'{}", kind, actual, at(actual_place), expected,
                         at(expected_place));
    case RecordFault::kInvented:
      break;
  }
  return fmt::format("{}: '{}'{}", kind, actual, at(actual_place));
}

bool OutputVerdict::exact() const {
  return leftovers.empty() &&
         std::all_of(std::begin(counts), std::end(counts), [](uint64_t n) { return n == 0; });
}

std::string OutputVerdict::summary() const {
  std::string wrong;
  for (const RecordFault fault : kRecordFaults) {
    if (count(fault) == 0) continue;
    wrong += fmt::format("{}{} {}", wrong.empty() ? "" : ", ", count(fault), to_string(fault));
  }
  if (!leftovers.empty()) {
    wrong += fmt::format("{}{} files left behind, such as {}", wrong.empty() ? "" : ", ",
                         leftovers.size(), printable(leftovers.front()));
  }
  if (wrong.empty()) return fmt::format("{} records, exact", actual_records);
  if (actual_records == expected_records)
    return fmt::format("{} records: {}", actual_records, wrong);
  return fmt::format("{} records instead of {}: {}", actual_records, expected_records, wrong);
}

bool Verdict::exact() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputVerdict& output) { return output.exact(); });
}

}  // namespace freshet::chaos
