#include "runtime/rest/digest_authentication.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace freshet::rest {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DigestResponseTest, IsThatOfTheStandardsExample) {
  EXPECT_EQ(digest_response({"Mufasa", "http-auth@example.org", "Circle of Life", "GET",
                             "/dir/index.html", "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
                             "00000001", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"}),
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1");
}

TEST(ParseDigestTest, ReadsTheStandardsExample) {
  const auto fields = parse_digest("Digest username=\"Mufasa\",\n realm=\"http-auth@example.org\"");
  EXPECT_FALSE(fields);  // Header lines do not go on in the next line.
  const auto said = parse_digest(
      R"(digest Username="Mufasa", uri="/dir/index.html", algorithm=SHA-256,nc=00000001 , qop=auth)"
      R"(, odd="a\"b\\,c", empty="", last=)");
  ASSERT_TRUE(said);
  EXPECT_EQ(*said, (std::map<std::string, std::string>{{"username", "Mufasa"},
                                                       {"uri", "/dir/index.html"},
                                                       {"algorithm", "SHA-256"},
                                                       {"nc", "00000001"},
                                                       {"qop", "auth"},
                                                       {"odd", "a\"b\\,c"},
                                                       {"empty", ""},
                                                       {"last", ""}}));
}

TEST(ParseDigestTest, RefusesWhatIsNoSuchHeader) {
  for (const char* wrong :
       {"", "Digest", "Digest ", "Basic Zm9v", "Digest a", "Digest a,b=c", "Digest a=\"b",
        "Digest a=b c=d", "Digest a=b,", "Digest a=b, a=c", "Digest a b=c", "Digest a=\"b\\\""})
    EXPECT_FALSE(parse_digest(wrong)) << wrong;
}

class DigestAuthenticationTest : public ::testing::Test {
 protected:
  /// Of a client that has been given `nonce`.
  static Request request(const std::string& nonce, uint32_t number,
                         const std::string& secret = "rain") {
    Request request{"GET", "/jobs"};
    request.sent_method = "GET";
    request.target = "/jobs?x=1";
    DigestProof proof{"freshet",      "freshet", secret,        "GET",
                      request.target, nonce,     count(number), "c"};
    request.authorization = header(proof, digest_response(proof));
    return request;
  }
  static std::string count(uint32_t number) { return fmt::format("{:08x}", number); }
  static std::string header(const DigestProof& proof, const std::string& response) {
    return fmt::format(
        R"(Digest username="{}", realm="{}", uri="{}", algorithm=SHA-256, nonce="{}", nc={}, )"
        R"(cnonce="{}", qop=auth, response="{}")",
        proof.user, proof.realm, proof.target, proof.nonce, proof.count, proof.client_nonce,
        response);
  }

  std::string challenge() {
    Request first{"GET", "/jobs"};
    return nonce_of(*who_.check(first));
  }
  static std::string nonce_of(const Response& response) {
    EXPECT_EQ(response.status, 401);
    const std::string& text = response.headers.at("WWW-Authenticate");
    EXPECT_THAT(text, HasSubstr("Digest realm=\"freshet\", qop=\"auth\", algorithm=SHA-256, "));
    const size_t begin = text.find("nonce=\"") + 7;
    return text.substr(begin, text.find('"', begin) - begin);
  }
  void expect_right(const Request& request) { EXPECT_EQ(who_.check(request), std::nullopt); }
  void expect_wrong(const Request& request) {
    const auto response = who_.check(request);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 401);
    EXPECT_THAT(response->headers.at("WWW-Authenticate"), Not(HasSubstr("stale")));
    EXPECT_THAT(response->body, HasSubstr("curl --digest -u freshet:SECRET"));
  }
  void expect_stale(const Request& request) {
    const auto response = who_.check(request);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 401);
    EXPECT_THAT(response->headers.at("WWW-Authenticate"), HasSubstr(", stale=true"));
    EXPECT_THAT(response->body, HasSubstr("this proof is too old, or was used before"));
  }

  ManualClock clock_;
  DigestAuthentication who_{"rain", clock_, make_seeded_random(1)};
};

TEST_F(DigestAuthenticationTest, LetsInWhoKnowsTheSecret) {
  const std::string nonce = challenge();
  EXPECT_NE(nonce, challenge());
  for (uint32_t number = 1; number < 200; ++number) expect_right(request(nonce, number));
}

TEST_F(DigestAuthenticationTest, RefusesWhoDoesNot) {
  const std::string nonce = challenge();
  expect_wrong(request(nonce, 1, "snow"));
  expect_wrong(request(nonce, 1, ""));
  Request none{"GET", "/jobs"};
  expect_wrong(none);
  none.authorization = "Basic ZnJlc2hldDpyYWlu";
  expect_wrong(none);
}

TEST_F(DigestAuthenticationTest, RefusesAProofOfSomethingElse) {
  const std::string nonce = challenge();
  const Request good = request(nonce, 1);
  Request other = good;
  other.target = "/cluster";
  expect_wrong(other);
  other = good;
  other.sent_method = "DELETE";
  expect_wrong(other);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"SHA-256", "MD5"},
           {" algorithm=SHA-256,", ""},
           {"qop=auth", "qop=auth-int"},
           {" qop=auth,", ""},
           {"nc=00000001", "nc=00000002"},
           {"cnonce=\"c\"", "cnonce=\"d\""},
           {" cnonce=\"c\",", ""},
           {"realm=\"freshet\"", "realm=\"other\""},
           {"username=\"freshet\"", "username=\"root\""},
           {nonce, challenge()}}) {
    other = good;
    const size_t at = other.authorization.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    other.authorization.replace(at, from.size(), to);
    expect_wrong(other);
  }
  expect_right(good);
}

TEST_F(DigestAuthenticationTest, TakesAProofOnce) {
  const std::string nonce = challenge();
  expect_right(request(nonce, 1));
  expect_stale(request(nonce, 1));
  // Requests that are under way together come in any order.
  for (const uint32_t number : {5u, 3u, 2u, 4u, 68u}) {
    expect_right(request(nonce, number));
    expect_stale(request(nonce, number));
  }
  for (const uint32_t number : {4u, 5u, 3u, 2u, 1u}) expect_stale(request(nonce, number));
  expect_right(request(nonce, 6));
  expect_right(request(nonce, 1000));
  expect_stale(request(nonce, 69));  // Too far behind: nobody knows any more.
  expect_stale(request(nonce, 0));
  expect_right(request(nonce, 0xffffffff));
}

TEST_F(DigestAuthenticationTest, TakesOnlyItsOwnNoncesAndYoungOnes) {
  const std::string nonce = challenge();
  std::string changed = nonce;
  changed[3] = changed[3] == '1' ? '2' : '1';  // Another time.
  expect_stale(request(changed, 1));
  expect_stale(request("", 1));
  expect_stale(request(std::string(64, '0'), 1));
  ManualClock clock;
  DigestAuthentication restarted("rain", clock, make_seeded_random(2));
  EXPECT_THAT(restarted.check(request(nonce, 1))->headers.at("WWW-Authenticate"),
              HasSubstr("stale=true"));
  clock_.advance(DigestAuthentication::kNonceAge);
  expect_right(request(nonce, 1));
  clock_.advance(1ms);
  expect_stale(request(nonce, 2));
}

TEST_F(DigestAuthenticationTest, RefusesNoncesThatItHasForgotten) {
  const std::string first = challenge();
  expect_right(request(first, 1));
  const std::string unused = challenge();
  clock_.advance(1ms);
  for (size_t i = 0; i < DigestAuthentication::kNoncesMax; ++i)
    expect_right(request(challenge(), 1));
  expect_stale(request(first, 1));  // It may have been used.
  expect_stale(request(first, 2));
  const std::string last = challenge();
  expect_right(request(last, 1));
  expect_stale(request(last, 1));
  (void)unused;
}

}  // namespace
}  // namespace freshet::rest
