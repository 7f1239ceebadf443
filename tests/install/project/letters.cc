#include "letter.pb.h"
#include "text/initial.h"

std::string initial_of(const std::string& line) {
  letter::Letter letter;
  letter.set_name(line.substr(0, 1));
  return letter.name();
}
