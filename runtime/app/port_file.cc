#include "runtime/app/port_file.h"

#include <sstream>

namespace freshet {

std::string to_text(const PortFile& file) {
  std::string text = file.address.to_string() + "\n";
  if (file.rest) text += "rest " + file.rest->to_string() + "\n";
  if (file.metrics) text += "metrics " + file.metrics->to_string() + "\n";
  return text;
}

Result<PortFile> parse_port_file(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  PortFile file;
  ASSIGN_OR_RETURN(file.address, Address::parse(line));
  while (std::getline(lines, line)) {
    const size_t blank = line.find(' ');
    if (blank == line.npos) continue;
    const Result<Address> address = Address::parse(line.substr(blank + 1));
    if (!address.ok()) return address.status();
    if (line.starts_with("rest ")) file.rest = *address;
    if (line.starts_with("metrics ")) file.metrics = *address;
  }
  return file;
}

std::string metrics_url(const Address& address) {
  return "http://" + address.to_string() + "/metrics";
}

}  // namespace freshet
