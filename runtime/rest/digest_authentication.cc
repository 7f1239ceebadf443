#include "runtime/rest/digest_authentication.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/secret_handshake.h"

namespace freshet::rest {

namespace {

constexpr size_t kStemDigits = 32;  // Time and chance.
constexpr size_t kSignatureDigits = 32;
constexpr uint64_t kBits = 64;

std::string hex(std::string_view bytes) {
  std::string digits;
  for (const char byte : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

std::string sha256(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash;
  unsigned int size = 0;
  CHECK(EVP_Digest(text.data(), text.size(), hash.data(), &size, EVP_sha256(), nullptr) == 1);
  return hex({reinterpret_cast<const char*>(hash.data()), size});
}

/// In a time that says nothing of where they differ.
bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<uint64_t> parse_hex(std::string_view digits) {
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

/// A quoted text or a plain word, taken from the front; nullopt when the quotes do not end.
std::optional<std::string> take_value(std::string_view& text) {
  std::string value;
  if (!text.starts_with('"')) {
    value = text.substr(0, text.find_first_of(", \t"));
    text.remove_prefix(value.size());
    return value;
  }
  for (size_t at = 1; at < text.size(); at++) {
    if (text[at] == '"') {
      text.remove_prefix(at + 1);
      return value;
    }
    if (text[at] == '\\' && at + 1 < text.size()) at++;
    value += text[at];
  }
  return std::nullopt;
}

std::string make_key(Random& random) {
  std::string key;
  for (int i = 0; i < 4; i++) key += fmt::format("{:016x}", random.next());
  return key;
}

}  // namespace

std::optional<std::map<std::string, std::string>> parse_digest(std::string_view authorization) {
  constexpr size_t kSchemeSize = 7;
  if (in_lower_case(authorization.substr(0, kSchemeSize)) != "digest ") return std::nullopt;
  authorization.remove_prefix(kSchemeSize);
  std::map<std::string, std::string> fields;
  while (true) {
    skip_blanks(authorization);
    const size_t equals = authorization.find_first_of("=, \t");
    if (equals == authorization.npos || authorization[equals] != '=') return std::nullopt;
    const std::string name = in_lower_case(authorization.substr(0, equals));
    authorization.remove_prefix(equals + 1);
    const auto value = take_value(authorization);
    if (!value || !fields.emplace(name, *value).second) return std::nullopt;
    skip_blanks(authorization);
    if (authorization.empty()) return fields;
    if (!authorization.starts_with(',')) return std::nullopt;
    authorization.remove_prefix(1);
  }
}

std::string digest_response(const DigestProof& proof) {
  const std::string who = sha256(fmt::format("{}:{}:{}", proof.user, proof.realm, proof.secret));
  const std::string what = sha256(fmt::format("{}:{}", proof.method, proof.target));
  return sha256(
      fmt::format("{}:{}:{}:{}:auth:{}", who, proof.nonce, proof.count, proof.client_nonce, what));
}

DigestAuthentication::DigestAuthentication(std::string secret, const Clock& clock,
                                           std::unique_ptr<Random> random)
    : secret_(std::move(secret)),
      clock_(clock),
      key_(make_key(*random)),
      random_(std::move(random)) {}

std::optional<Response> DigestAuthentication::check(const Request& request) {
  const Verdict verdict = judge(request);
  if (verdict == Verdict::kRight) return std::nullopt;
  Response response = error_response(
      401, verdict == Verdict::kStale
               ? "this proof is too old, or was used before"
               : "security.secret must be known here, as the password of the user freshet: "
                 "curl --digest -u freshet:SECRET");
  response.headers["WWW-Authenticate"] =
      fmt::format(R"(Digest realm="{}", qop="auth", algorithm=SHA-256, nonce="{}"{})", kRealm,
                  make_nonce(), verdict == Verdict::kStale ? ", stale=true" : "");
  return response;
}

DigestAuthentication::Verdict DigestAuthentication::judge(const Request& request) {
  auto fields = parse_digest(request.authorization);
  if (!fields) return Verdict::kWrong;
  const auto& said = *fields;
  const auto is = [&said](const char* name, std::string_view wanted) {
    const auto found = said.find(name);
    return found != said.end() && found->second == wanted;
  };
  if (!is("username", kUser) || !is("realm", kRealm) || !is("uri", request.target) ||
      !is("qop", "auth") || !said.contains("algorithm") ||
      in_lower_case(said.at("algorithm")) != "sha-256")
    return Verdict::kWrong;
  for (const char* name : {"nonce", "nc", "cnonce", "response"}) {
    if (!said.contains(name)) return Verdict::kWrong;
  }
  const std::string wanted =
      digest_response({kUser, kRealm, secret_, request.sent_method, request.target,
                       said.at("nonce"), said.at("nc"), said.at("cnonce")});
  if (!same(in_lower_case(said.at("response")), wanted)) return Verdict::kWrong;
  const auto number = said.at("nc").size() == 8 ? parse_hex(said.at("nc")) : std::nullopt;
  const auto made = made_at(said.at("nonce"));
  if (!number || !made || *made + kNonceAge < clock_.now()) return Verdict::kStale;
  return take_number(said.at("nonce"), *number) ? Verdict::kRight : Verdict::kStale;
}

bool DigestAuthentication::take_number(const std::string& nonce, uint64_t number) {
  const MutexLock lock(mutex_);
  if (number == 0 || nonce <= forgotten_) return false;
  Used& used = used_[nonce];
  if (number > used.highest) {
    const uint64_t step = number - used.highest;
    used.before = step < kBits ? used.before << step : 0;
    if (used.highest > 0 && step <= kBits) used.before |= uint64_t{1} << (step - 1);
    used.highest = number;
  } else {
    const uint64_t back = used.highest - number;
    if (back == 0 || back > kBits) return false;
    const uint64_t bit = uint64_t{1} << (back - 1);
    if ((used.before & bit) != 0) return false;
    used.before |= bit;
  }
  // They begin with their time. What is too old is refused by its age.
  while (used_.size() > kNoncesMax) {
    forgotten_ = used_.begin()->first;
    used_.erase(used_.begin());
  }
  return true;
}

std::string DigestAuthentication::make_nonce() {
  const auto now = static_cast<uint64_t>(to_millis(clock_.now().time_since_epoch()));
  const MutexLock lock(mutex_);
  const std::string stem = fmt::format("{:016x}{:016x}", now, random_->next());
  return stem + signature_of(stem);
}

std::string DigestAuthentication::signature_of(std::string_view stem) const {
  return hex(hmac_sha256(key_, stem)).substr(0, kSignatureDigits);
}

std::optional<TimePoint> DigestAuthentication::made_at(std::string_view nonce) const {
  if (nonce.size() != kStemDigits + kSignatureDigits) return std::nullopt;
  const std::string_view stem = nonce.substr(0, kStemDigits);
  if (!same(nonce.substr(kStemDigits), signature_of(stem))) return std::nullopt;
  const auto millis = parse_hex(stem.substr(0, kStemDigits / 2));
  if (!millis) return std::nullopt;
  return TimePoint(std::chrono::milliseconds(static_cast<int64_t>(*millis)));
}

}  // namespace freshet::rest
