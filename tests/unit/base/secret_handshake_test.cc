#include "runtime/base/secret_handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

struct Ends {
  SecretHandshake connecting;
  SecretHandshake accepting;

  /// Each has the other's nonce.
  void meet(std::string_view connection = "x") {
    ASSERT_TRUE(accepting.meet(connecting.nonce(), connection).ok());
    ASSERT_TRUE(connecting.meet(accepting.nonce(), connection).ok());
  }
};

class SecretHandshakeTest : public ::testing::Test {
 protected:
  SecretHandshake end(HandshakeSide side, const std::string& secret) {
    const bool connecting = side == HandshakeSide::kConnecting;
    return {{side, secret, connecting ? "this client" : "this server",
             connecting ? "the server" : "a client"},
            *random_};
  }
  Ends ends(const std::string& of_connecting, const std::string& of_accepting) {
    return {end(HandshakeSide::kConnecting, of_connecting),
            end(HandshakeSide::kAccepting, of_accepting)};
  }

  const std::unique_ptr<Random> random_ = make_seeded_random(4);
};

// RFC 4231, section 4.
TEST(HmacSha256Test, HasTheValuesOfTheStandard) {
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\xaa'), std::string(50, '\xdd'))),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_F(SecretHandshakeTest, BothProveWhatTheyKnow) {
  Ends both = ends("rain", "rain");
  both.meet();
  EXPECT_TRUE(both.accepting.check(both.connecting.proof()).ok());
  EXPECT_TRUE(both.connecting.check(both.accepting.proof()).ok());
  EXPECT_EQ(both.connecting.proof(),
            hmac_sha256("rain", "freshet 1 connecting\n" + both.connecting.nonce() +
                                    both.accepting.nonce() + "x"));
}

TEST_F(SecretHandshakeTest, NeedsNothingWhereNobodyHasASecret) {
  Ends both = ends("", "");
  both.meet();
  EXPECT_EQ(both.connecting.nonce(), "");
  EXPECT_FALSE(both.accepting.has_secret());
}

TEST_F(SecretHandshakeTest, RefusesWhoKnowsAnotherSecret) {
  Ends both = ends("rain", "rains");
  both.meet();
  const Status refused = both.accepting.check(both.connecting.proof());
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("security.secret differs: a client does not know that "
                                           "of this server; give the same to every process"));
  EXPECT_THAT(refused.message(), Not(HasSubstr("rain")));
  EXPECT_THAT(both.connecting.check(both.accepting.proof()).message(),
              HasSubstr("the server does not know that of this client"));
  for (const std::string& proof : {std::string(), std::string(32, '\0'), std::string(33, 'x')})
    EXPECT_FALSE(both.accepting.check(proof).ok());
}

TEST_F(SecretHandshakeTest, SaysWhichOfTheTwoHasNone) {
  Ends one = ends("", "rain");
  EXPECT_THAT(one.accepting.meet(one.connecting.nonce(), "x").message(),
              HasSubstr("a client has none, this server demands one"));
  Ends other = ends("rain", "");
  EXPECT_THAT(other.accepting.meet(other.connecting.nonce(), "x").message(),
              HasSubstr("a client has one, this server has none"));
  EXPECT_FALSE(other.connecting.meet("", "x").ok());  // Nor is it talked into going without.
}

TEST_F(SecretHandshakeTest, RefusesAProofOfAnotherConnection) {
  Ends recorded = ends("rain", "rain");
  recorded.meet();
  const std::string proof = recorded.connecting.proof();
  SecretHandshake next = end(HandshakeSide::kAccepting, "rain");
  ASSERT_TRUE(next.meet(recorded.connecting.nonce(), "x").ok());
  EXPECT_FALSE(next.check(proof).ok());
  Ends elsewhere = ends("rain", "rain");
  ASSERT_TRUE(elsewhere.connecting.meet(elsewhere.accepting.nonce(), "x").ok());
  ASSERT_TRUE(elsewhere.accepting.meet(elsewhere.connecting.nonce(), "y").ok());
  EXPECT_FALSE(elsewhere.accepting.check(elsewhere.connecting.proof()).ok());
}

TEST_F(SecretHandshakeTest, RefusesWhoGivesBackWhatItSaid) {
  SecretHandshake accepting = end(HandshakeSide::kAccepting, "rain");
  EXPECT_FALSE(accepting.meet(accepting.nonce(), "x").ok());
  // Nor with a nonce of the mirror's own, or from a connection the other way round.
  ASSERT_TRUE(accepting.meet(std::string(32, 'm'), "x").ok());
  EXPECT_FALSE(accepting.check(accepting.proof()).ok());
  SecretHandshake second = end(HandshakeSide::kAccepting, "rain");
  ASSERT_TRUE(second.meet(accepting.nonce(), "x").ok());
  EXPECT_FALSE(accepting.check(second.proof()).ok());
}

TEST_F(SecretHandshakeTest, RefusesWhatIsNoNonce) {
  SecretHandshake accepting = end(HandshakeSide::kAccepting, "rain");
  EXPECT_EQ(accepting.meet("short", "x").code(), StatusCode::kDataLoss);
  EXPECT_EQ(accepting.meet(std::string(33, 'x'), "x").code(), StatusCode::kDataLoss);
}

TEST_F(SecretHandshakeTest, HasANonceOfItsOwnEachTime) {
  EXPECT_NE(end(HandshakeSide::kAccepting, "rain").nonce(),
            end(HandshakeSide::kAccepting, "rain").nonce());
}

}  // namespace
}  // namespace freshet
