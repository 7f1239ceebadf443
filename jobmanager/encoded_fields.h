#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace freshet {

/// A Protobuf message put together from parts that are encoded already:
///
///   message := field*
///   field   := varint (number << 3 | 2), varint size, bytes     a submessage
class EncodedFields {
 public:
  /// A submessage. `bytes` must live until enclosed(). `more`: fields that it has besides.
  void add(int number, std::string_view bytes, std::string more = {});

  /// The fields of a message that was encoded as a whole.
  void add_all_of(std::string fields);

  /// Another message, with this one as its only field.
  std::string enclosed(int number) const;

 private:
  struct Part {
    std::string owned;  // Goes before `bytes`.
    std::string_view bytes;
    std::string more;  // Behind them.
  };
  std::vector<Part> parts_;
};

}  // namespace freshet
