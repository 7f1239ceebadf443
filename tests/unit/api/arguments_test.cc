#include "runtime/api/arguments.h"

#include <gtest/gtest.h>

#include "runtime/api/usage_error.h"

namespace freshet {
namespace {

using Texts = std::vector<std::string>;

/// What `use` is told when it is refused; empty when it is not.
template <class Use>
std::string refusal(const Texts& given, Use use) {
  Arguments arguments(given);
  try {
    use(arguments);
    arguments.check_all_known();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ArgumentsTest, ReadsListsTextsNumbersAndFlags) {
  Arguments arguments({"--input", "a", "b c", "--output=DIR=1", "--n", "-5", "--fast"});
  EXPECT_EQ(arguments.list("input", ""), (Texts{"a", "b c"}));
  EXPECT_EQ(arguments.text("output", ""), "DIR=1");
  EXPECT_EQ(arguments.integer("n", ""), -5);
  EXPECT_TRUE(arguments.flag("fast", ""));
  EXPECT_FALSE(arguments.flag("slow", ""));
  EXPECT_EQ(arguments.text_or("name", "x", ""), "x");
  EXPECT_EQ(arguments.integer_or("m", 4, ""), 4);
  EXPECT_EQ(arguments.optional_list("more", ""), Texts{});
  EXPECT_NO_THROW(arguments.check_all_known());
}

TEST(ArgumentsTest, TakesEverythingAsValuesAfterTwoDashes) {
  Arguments arguments({"--input", "a", "--", "--b", "--"});
  EXPECT_EQ(arguments.list("input", ""), (Texts{"a", "--b", "--"}));
}

TEST(ArgumentsTest, NamesAnUnknownOptionAndListsTheKnownOnes) {
  const std::string text = refusal({"--input", "a", "--inptu", "b"}, [](Arguments& arguments) {
    arguments.list("input", "files to read");
    arguments.flag("updates", "shows each change");
  });
  EXPECT_TRUE(contains(text, "no option --inptu")) << text;
  EXPECT_TRUE(contains(text, "--input VALUE...  files to read")) << text;
  EXPECT_TRUE(contains(text, "--updates  shows each change")) << text;
}

TEST(ArgumentsTest, HintsAtAMisspeltNameWhenARequiredOptionIsMissing) {
  const std::string text =
      refusal({"--inptu", "b"}, [](Arguments& arguments) { arguments.list("input", ""); });
  EXPECT_TRUE(contains(text, "--input is missing")) << text;
  EXPECT_TRUE(contains(text, "--inptu")) << text;
}

TEST(ArgumentsTest, ListsTheOptionsThatAreAskedForAfterTheOneThatIsWrong) {
  const std::string text =
      refusal({"--fast=false", "--size", "1", "--n", "x"}, [](Arguments& arguments) {
        EXPECT_TRUE(arguments.flag("fast", "quickly"));
        EXPECT_EQ(arguments.text("where", "a place"), "");
        EXPECT_EQ(arguments.list("what", "things"), Texts{""});
        EXPECT_EQ(arguments.integer("n", "a number", 3), 3);
        arguments.integer("size", "its size");
      });
  EXPECT_EQ(text,
            "option --fast takes no value, but 'false' follows it; the job's options:\n"
            "  --fast  quickly\n  --n VALUE  a number\n  --size VALUE  its size\n"
            "  --what VALUE...  things\n  --where VALUE  a place");
}

TEST(ArgumentsTest, AnswersARequestForHelpWhateverElseIsWrong) {
  Arguments arguments({"--help", "--n"});
  arguments.integer("n", "a number");
  try {
    arguments.check_all_known();
    ADD_FAILURE() << "no help";
  } catch (const HelpRequest& request) {
    EXPECT_STREQ(request.what(), "the job's options:\n  --n VALUE  a number");
  }
  Arguments own({"--help"});
  EXPECT_TRUE(own.flag("help", "of the job itself"));
  EXPECT_NO_THROW(own.check_all_known());
}

TEST(ArgumentsTest, RefusesWhatDoesNotFit) {
  const auto text = [](Arguments& a) { a.text("x", ""); };
  EXPECT_TRUE(contains(refusal({}, text), "--x is missing"));
  EXPECT_TRUE(contains(refusal({"--x"}, text), "takes one value, not 0"));
  EXPECT_TRUE(contains(refusal({"--x", "1", "2"}, text), "takes one value, not 2"));
  EXPECT_TRUE(contains(refusal({"stray"}, [](Arguments&) {}), "'stray'"));
  EXPECT_TRUE(contains(refusal({"--f", "1"}, [](Arguments& a) { a.flag("f", ""); }), "no value"));
  EXPECT_TRUE(contains(refusal({"--l"}, [](Arguments& a) { a.list("l", ""); }), "needs a value"));
  EXPECT_TRUE(contains(refusal({}, [](Arguments& a) { a.refuse("not today"); }), "not today"));
  const auto small = [](Arguments& a) { a.integer("n", "", 1, 10); };
  for (const char* bad : {"0", "11", "1x", "", " 1", "1e3", "99999999999999999999"}) {
    EXPECT_TRUE(contains(refusal({"--n", bad}, small), "from 1 to 10")) << bad;
  }
  EXPECT_EQ(refusal({"--n", "10"}, small), "");
}

}  // namespace
}  // namespace freshet
