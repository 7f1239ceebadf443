#include "runtime/app/job_toolchain.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

namespace freshet {

namespace {

Status add_line(const std::string& line, const std::filesystem::path& folder, JobToolchain& to) {
  const size_t blank = line.find(' ');
  const std::string kind = line.substr(0, blank);
  const std::string text = blank == std::string::npos ? "" : line.substr(blank + 1);
  if (text.empty()) return data_loss(fmt::format("'{}' says nothing", line));
  const std::string path = (folder / text).lexically_normal().string();
  if (kind == "compiler") {
    to.compilers.push_back(text);
  } else if (kind == "flag") {
    to.flags.push_back(text);
  } else if (kind == "gnu-flag") {
    to.gnu_flags.push_back(text);
  } else if (kind == "headers") {
    to.headers = path;
  } else if (kind == "library") {
    to.library = path;
  } else if (kind == "link") {
    to.link.push_back(text);
  } else {
    return data_loss(fmt::format("it has a line '{}', which means nothing", line));
  }
  return Status();
}

}  // namespace

Result<JobToolchain> JobToolchain::parse(const std::string& text, const std::string& file) {
  JobToolchain toolchain;
  std::istringstream lines(text);
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  for (std::string line; std::getline(lines, line);) {
    RETURN_IF_ERROR(add_line(line, folder, toolchain).with_context(file));
  }
  if (toolchain.compilers.empty() || toolchain.headers.empty() || toolchain.library.empty())
    return data_loss(file + " does not name compiler, headers and library");
  return toolchain;
}

}  // namespace freshet
