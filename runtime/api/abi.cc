#include "runtime/api/abi.h"

namespace freshet {

std::string_view library_abi_stamp() {
  static constexpr AbiStamp kStamp = make_abi_stamp();
  return kStamp.text;
}

}  // namespace freshet
