#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "runtime/base/codec.h"

/// Gives a class a codec whose fields have names: those listed, in this order, and no others.
///
///   struct WordCount {
///     std::string word;
///     uint64_t count = 0;
///   };
///   FRESHET_FIELDS(WordCount, word, count);
///
/// The fingerprint is `struct{word:string,count:u64}`: a field that is renamed, moved, added or
/// removed is seen, which an aggregate without it cannot promise. Put it directly behind the class,
/// in the same namespace; or among the public members of the class, where it may name private ones
/// and works for templates. The class need not be an aggregate. At most 100 fields.
#define FRESHET_FIELDS(Class, ...)                                                          \
  [[maybe_unused]] inline constexpr auto freshet_fields(const Class*) {                     \
    return ::freshet::codec_detail::FieldList<                                              \
        Class, #__VA_ARGS__ __VA_OPT__(                                                     \
                   , FRESHET_DETAIL_EXPAND(FRESHET_DETAIL_MEMBERS(Class, __VA_ARGS__)))>(); \
  }                                                                                         \
  static_assert(true)

// Gives `&Class::a, &Class::b, ...`. A macro cannot name itself, so each reading of the text
// unfolds one field more.
#define FRESHET_DETAIL_MEMBERS(Class, member, ...) \
  &Class::member __VA_OPT__(, FRESHET_DETAIL_AGAIN FRESHET_DETAIL_PARENTHESES(Class, __VA_ARGS__))
#define FRESHET_DETAIL_AGAIN() FRESHET_DETAIL_MEMBERS
#define FRESHET_DETAIL_PARENTHESES ()
#define FRESHET_DETAIL_EXPAND(...) \
  FRESHET_DETAIL_EXPAND_3(FRESHET_DETAIL_EXPAND_3(FRESHET_DETAIL_EXPAND_3(__VA_ARGS__)))
#define FRESHET_DETAIL_EXPAND_3(...) \
  FRESHET_DETAIL_EXPAND_2(FRESHET_DETAIL_EXPAND_2(FRESHET_DETAIL_EXPAND_2(__VA_ARGS__)))
#define FRESHET_DETAIL_EXPAND_2(...) \
  FRESHET_DETAIL_EXPAND_1(FRESHET_DETAIL_EXPAND_1(FRESHET_DETAIL_EXPAND_1(__VA_ARGS__)))
#define FRESHET_DETAIL_EXPAND_1(...) \
  FRESHET_DETAIL_EXPAND_0(FRESHET_DETAIL_EXPAND_0(FRESHET_DETAIL_EXPAND_0(__VA_ARGS__)))
#define FRESHET_DETAIL_EXPAND_0(...) __VA_ARGS__

namespace freshet {

namespace codec_detail {

/// Text that can be an argument of a template.
template <size_t kSize>
struct FieldNames {
  constexpr FieldNames(const char (&names)[kSize]) { std::copy_n(names, kSize, text); }
  char text[kSize] = {};
};

/// What FRESHET_FIELDS says of T. `kNames` as the macro got them, `a, b`.
template <class T, FieldNames kNames, auto... kMembers>
struct FieldList {
  using Class = T;
  static_assert(sizeof...(kMembers) > 0, "FRESHET_FIELDS needs the class and one field at least");
  static_assert((std::is_member_object_pointer_v<decltype(kMembers)> && ...),
                "FRESHET_FIELDS lists fields of objects, no functions and nothing static");
};

struct NoFields {
  using Class = void;
};

template <class T>
auto find_fields() {
  if constexpr (requires(T & value, const T* type) { value.freshet_fields(type); }) {
    return decltype(std::declval<T&>().freshet_fields(static_cast<const T*>(nullptr)))();
  } else if constexpr (requires(const T* type) { freshet_fields(type); }) {
    return decltype(freshet_fields(static_cast<const T*>(nullptr)))();
  } else {
    return NoFields();
  }
}

template <class T>
using FieldsOf = decltype(find_fields<T>());

/// Those of a base class do not count: they would encode a part of the object.
template <class T>
concept HasNamedFields = std::is_class_v<T> && std::is_same_v<typename FieldsOf<T>::Class, T>;

template <class Field>
constexpr bool check_field() {
  static_assert(
      Encodable<Field>,
      "no Codec for a field of FRESHET_FIELDS: fields are numbers, strings, standard containers, "
      "aggregates of these, Protobuf messages, or types with FRESHET_FIELDS or a specialised "
      "freshet::Codec");
  return true;
}

template <auto kMember, class T>
using FieldType = std::remove_cvref_t<decltype(std::declval<const T&>().*kMember)>;

template <class List>
struct FieldsCodec;

template <class T, FieldNames kNames, auto... kMembers>
struct FieldsCodec<FieldList<T, kNames, kMembers...>> {
  static_assert((check_field<FieldType<kMembers, T>>() && ...));
  static constexpr uint32_t kFixedSize =
      fixed_size_sum(std::make_index_sequence<sizeof...(kMembers)>(),
                     static_cast<const std::tuple<FieldType<kMembers, T>...>*>(nullptr));
  static std::string fingerprint() {
    const FingerprintDepth depth(typeid(T));
    const char* next = kNames.text;
    std::string list;
    ((list += (list.empty() ? "" : ",") + take_name(next) + ":" +
              Codec<FieldType<kMembers, T>>::fingerprint()),
     ...);
    return "struct{" + list + "}";
  }
  static void encode(const T& value, Encoder& encoder) {
    (Codec<FieldType<kMembers, T>>::encode(value.*kMembers, encoder), ...);
  }
  static void decode(Decoder& decoder, T& value) {
    (Codec<FieldType<kMembers, T>>::decode(decoder, value.*kMembers), ...);
  }

 private:
  static std::string take_name(const char*& next) {
    std::string name;
    for (; *next != '\0' && *next != ','; ++next) {
      if (*next != ' ') name += *next;
    }
    if (*next == ',') ++next;
    return name;
  }
};

}  // namespace codec_detail

template <codec_detail::Aggregate T>
requires codec_detail::HasNamedFields<T>
struct Codec<T> : codec_detail::FieldsCodec<codec_detail::FieldsOf<T>> {
};

template <codec_detail::Copyable T>
requires codec_detail::HasNamedFields<T>
struct Codec<T> : codec_detail::FieldsCodec<codec_detail::FieldsOf<T>> {
};

template <codec_detail::HasNamedFields T>
requires(!codec_detail::Aggregate<T> && !codec_detail::Copyable<T>) struct Codec<T>
    : codec_detail::FieldsCodec<codec_detail::FieldsOf<T>> {
};

}  // namespace freshet
