#include "runtime/base/secret_handshake.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdint>
#include <cstring>

#include "runtime/base/check.h"

namespace freshet {

namespace {

std::string make_nonce(Random& random) {
  std::string nonce(SecretHandshake::kNonceBytes, '\0');
  for (size_t i = 0; i < nonce.size(); i += sizeof(uint64_t)) {
    const uint64_t word = random.next();
    std::memcpy(nonce.data() + i, &word, sizeof(word));
  }
  return nonce;
}

std::string_view label_of(HandshakeSide side) {
  return side == HandshakeSide::kConnecting ? "freshet 1 connecting\n" : "freshet 1 accepting\n";
}

HandshakeSide other(HandshakeSide side) {
  return side == HandshakeSide::kConnecting ? HandshakeSide::kAccepting
                                            : HandshakeSide::kConnecting;
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view message) {
  std::string code(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  const auto* const done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(code.data()), &size);
  CHECK(done != nullptr);
  code.resize(size);
  return code;
}

SecretHandshake::SecretHandshake(Options options, Random& random)
    : options_(std::move(options)), nonce_(has_secret() ? make_nonce(random) : std::string()) {}

Status SecretHandshake::differs(const std::string& how) const {
  return failed_precondition(
      fmt::format("security.secret differs: {}; give the same to every process and client of the "
                  "cluster, in FRESHET_SECRET or freshet.yaml",
                  how));
}

Status SecretHandshake::meet(std::string_view nonce_of_peer, std::string_view connection) {
  if (!nonce_of_peer.empty() && nonce_of_peer.size() != kNonceBytes)
    return data_loss(fmt::format("a challenge of {} bytes", nonce_of_peer.size()));
  if (nonce_of_peer.empty() && has_secret())
    return differs(fmt::format("{} has none, {} demands one", options_.peer, options_.self));
  if (!nonce_of_peer.empty() && !has_secret())
    return differs(fmt::format("{} has one, {} has none", options_.peer, options_.self));
  if (has_secret() && nonce_of_peer == nonce_) return data_loss("our own challenge came back");
  nonce_of_peer_ = nonce_of_peer;
  connection_ = connection;
  return Status();
}

std::string SecretHandshake::proof_of(HandshakeSide side) const {
  CHECK(has_secret() && !nonce_of_peer_.empty());
  const bool connecting = options_.side == HandshakeSide::kConnecting;
  std::string message(label_of(side));
  message += connecting ? nonce_ : nonce_of_peer_;
  message += connecting ? nonce_of_peer_ : nonce_;
  message += connection_;
  return hmac_sha256(options_.secret, message);
}

std::string SecretHandshake::proof() const { return proof_of(options_.side); }

Status SecretHandshake::check(std::string_view proof_of_peer) const {
  const std::string expected = proof_of(other(options_.side));
  if (proof_of_peer.size() == expected.size() &&
      CRYPTO_memcmp(proof_of_peer.data(), expected.data(), expected.size()) == 0) {
    return Status();
  }
  return differs(fmt::format("{} does not know that of {}", options_.peer, options_.self));
}

}  // namespace freshet
