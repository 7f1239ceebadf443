#include "runtime/api/data_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "runtime/api/built_job.h"
#include "runtime/api/environment.h"
#include "runtime/connectors/data_generator.h"
#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/elements.h"
#include "runtime/graph/buffer_timeout.h"
#include "runtime/graph/job_graph.h"
#include "runtime/testing/operator_harness.h"

namespace freshet {
namespace {

using Word = std::pair<std::string, int64_t>;

DataStream<std::string> texts(Environment& env) {
  return env.from_source(elements(std::vector<std::string>{"a", "b"}), "texts").set_parallelism(1);
}

BuildOptions options_with(uint32_t parallelism, RuntimeMode mode) {
  BuildOptions options;
  options.parallelism = parallelism;
  options.mode = mode;
  return options;
}

/// A built job, with its operators by name.
class Built {
 public:
  explicit Built(const std::function<void(Environment&)>& builder,
                 const BuildOptions& options = options_with(4, RuntimeMode::kStreaming)) {
    auto result = build_job("test", builder, options);
    if (!result.ok()) {
      error = result.status();
      return;
    }
    job = *result;
    auto translated = build_job_graph(job->graph(), {.parallelism = options.parallelism});
    EXPECT_TRUE(translated.ok()) << translated.status().to_string();
    graph = *translated;
  }

  const LogicalOperator& op(const std::string& name) const {
    for (const LogicalOperator& one : job->graph().operators) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << "no operator " << name;
    return job->graph().operators.front();
  }

  const LogicalEdge& edge_into(const std::string& name) const {
    for (const LogicalEdge& edge : job->graph().edges) {
      if (job->graph().operators[edge.to].name == name) return edge;
    }
    ADD_FAILURE() << "no edge into " << name;
    return job->graph().edges.front();
  }

  std::shared_ptr<const OperatorFactory> factory(const std::string& name) const {
    return job->operator_factory(op(name).id);
  }

  std::shared_ptr<const BuiltJob> job;
  JobGraph graph;
  Status error;
};

TEST(DataStreamTest, BuildsAWordCount) {
  const Built built([](Environment& env) {
    texts(env)
        .flat_map([](const std::string& text, Collector<Word>& out) {
          out.collect({text, 1});
        })
        .key_by(&Word::first)
        .sum(&Word::second, Emit::final)
        .uid("count")
        .sink_to(discard_sink<Word>());
  });
  ASSERT_EQ(built.graph.vertices.size(), 4u);
  EXPECT_EQ(built.graph.vertices[0].name(), "texts splits");
  EXPECT_EQ(built.graph.vertices[1].name(), "texts");
  EXPECT_EQ(built.graph.vertices[2].name(), "flat_map");
  EXPECT_EQ(built.graph.vertices[3].name(), "sum -> discard");
  EXPECT_EQ(built.edge_into("flat_map").partitioning, Partitioning::kRebalance);
  EXPECT_EQ(built.edge_into("sum").partitioning, Partitioning::kHash);
  EXPECT_EQ(built.edge_into("sum").type_fingerprint, "pair<string,i64>");
  EXPECT_TRUE(built.op("sum").keyed);
  testing::OperatorHarness<Word> sum(*built.factory("sum"));
  for (const Word& word : {Word("b", 1), Word("a", 2), Word("b", 5)}) sum.process(word);
  sum.end();
  EXPECT_EQ(sum.take_outputs(), (std::vector<Word>{{"a", 2}, {"b", 6}}));
}

TEST(DataStreamTest, TakesFunctionsOfAllKinds) {
  struct Doubling {
    int64_t operator()(const int64_t& value) { return value * 2; }
  };
  const Built built([](Environment& env) {
    void (*twice)(const std::string&, Collector<std::string>&) = [](const std::string& text,
                                                                    Collector<std::string>& out) {
      out.collect(text);
      out.collect(text);
    };
    auto sized = texts(env).flat_map(twice).name("twice").map(&std::string::size).name("size");
    sized.map([](const auto& size) { return static_cast<int64_t>(size); })
        .map(Doubling())
        .name("double")
        .template flat_map<std::string>(
            [](const auto& value, auto& out) { out.collect(std::to_string(value)); })
        .name("print")
        .sink_to(discard_sink<std::string>());
  });
  ASSERT_TRUE(built.error.ok()) << built.error.to_string();
  testing::OperatorHarness<std::string> twice(*built.factory("twice"));
  twice.process(std::string("x"));
  EXPECT_EQ(twice.take_outputs(), (std::vector<std::string>{"x", "x"}));
  testing::OperatorHarness<std::string> print(*built.factory("print"));
  print.process(int64_t{12});
  EXPECT_EQ(print.take_outputs(), (std::vector<std::string>{"12"}));
}

TEST(DataStreamTest, SpreadsRecordsAsTold) {
  const std::map<Partitioning,
                 std::function<DataStream<std::string>(const DataStream<std::string>&)>>
      ways = {{Partitioning::kForward, [](const auto& s) { return s.forward(); }},
              {Partitioning::kRebalance, [](const auto& s) { return s.rebalance(); }},
              {Partitioning::kRescale, [](const auto& s) { return s.rescale(); }},
              {Partitioning::kBroadcast, [](const auto& s) { return s.broadcast(); }},
              {Partitioning::kShuffle, [](const auto& s) { return s.shuffle(); }},
              {Partitioning::kGlobal, [](const auto& s) { return s.global(); }}};
  for (const auto& [partitioning, spread] : ways) {
    const Built built([&](Environment& env) {
      spread(texts(env))
          .map([](const std::string& s) { return s; })
          .set_parallelism(1)
          .sink_to(discard_sink<std::string>());
    });
    EXPECT_EQ(built.edge_into("map").partitioning, partitioning);
  }
}

TEST(DataStreamTest, UnitesStreamsWithoutAnOperator) {
  const Built built([](Environment& env) {
    const auto a = texts(env), b = texts(env).rebalance();
    a.union_with(b, a)
        .map([](const std::string& s) { return s; })
        .sink_to(discard_sink<std::string>());
  });
  EXPECT_EQ(built.job->graph().operators.size(), 6u);
  EXPECT_EQ(built.graph.inputs_of(built.graph.vertices.back().id).size(), 3u);
}

TEST(DataStreamTest, AppliesSettingsToTheOperatorBeforeThem) {
  const Built built([](Environment& env) {
    env.set_buffer_timeout(7ms);
    texts(env)
        .uid("in")
        .slot_sharing_group("io")
        .map([](const std::string& s) { return s; })
        .name("m")
        .uid("u")
        .set_parallelism(3)
        .set_max_parallelism(9)
        .slot_sharing_group("g")
        .start_new_chain()
        .set_buffer_timeout(0ms)
        .sink_to(discard_sink<std::string>())
        .name("end")
        .set_parallelism(3)
        .disable_chaining();
  });
  const LogicalOperator& map = built.op("m");
  EXPECT_EQ(map.uid, "u");
  EXPECT_EQ(map.parallelism, 3u);
  EXPECT_EQ(map.max_parallelism, 9u);
  EXPECT_EQ(map.slot_sharing_group, "g");
  EXPECT_EQ(map.chaining, Chaining::kHead);
  EXPECT_EQ(built.op("end").chaining, Chaining::kNever);
  EXPECT_EQ(built.op("texts splits").uid, "in/splits");
  EXPECT_EQ(built.op("texts splits").slot_sharing_group, "io");
  EXPECT_EQ(built.edge_into("end").buffer_timeout_ms, 0u);
  EXPECT_EQ(built.edge_into("m").buffer_timeout_ms, 7u);
}

/// The vertices of the job, as people see them.
std::vector<std::string> vertices_of(const std::function<void(Environment&)>& builder) {
  std::vector<std::string> names;
  for (const JobVertex& vertex : Built(builder).graph.vertices) names.push_back(vertex.name());
  return names;
}

std::string identity(const std::string& text) { return text; }

TEST(DataStreamTest, ChainsOperatorsUnlessTold) {
  const auto with = [](const std::function<void(Environment&, DataStream<std::string>&)>& set) {
    return vertices_of([&](Environment& env) {
      env.set_parallelism(1);
      auto middle = texts(env).map(identity).name("a").map(identity).name("b");
      set(env, middle);
      middle.map(identity).name("c").sink_to(discard_sink<std::string>()).name("end");
    });
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(with([](auto&, auto&) {}), (Names{"texts splits", "texts -> a -> b -> c -> end"}));
  EXPECT_EQ(with([](auto&, auto& b) { b.start_new_chain(); }),
            (Names{"texts splits", "texts -> a", "b -> c -> end"}));
  EXPECT_EQ(with([](auto&, auto& b) { b.disable_chaining(); }),
            (Names{"texts splits", "texts -> a", "b", "c -> end"}));
  EXPECT_EQ(with([](auto&, auto& b) { b.slot_sharing_group("g"); }),
            (Names{"texts splits", "texts -> a", "b -> c -> end"}));
  EXPECT_EQ(with([](auto& env, auto&) { env.disable_operator_chaining(); }),
            (Names{"texts splits", "texts", "a", "b", "c", "end"}));
}

TEST(DataStreamTest, SlotSharingGroupsPassOnToWhatComesBehind) {
  const Built built([](Environment& env) {
    auto one = texts(env).slot_sharing_group("io").map(identity).name("one");
    auto two = texts(env).map(identity).name("two");
    two.union_with(one).map(identity).name("both").sink_to(discard_sink<std::string>());
    one.key_by(&identity)
        .reduce([](const std::string& a, const std::string&) { return a; })
        .sink_to(discard_sink<std::string>())
        .name("end");
  });
  std::map<std::string, std::string> groups;
  for (const JobVertex& vertex : built.graph.vertices) {
    for (const ChainedOperator& one : vertex.operators)
      groups[one.name] = vertex.slot_sharing_group;
  }
  EXPECT_EQ(groups["one"], "io");
  EXPECT_EQ(groups["reduce"], "io");
  EXPECT_EQ(groups["end"], "io");
  EXPECT_EQ(groups["two"], "default");
  EXPECT_EQ(groups["both"], "default");
  EXPECT_EQ(groups["discard"], "default");
}

TEST(DataStreamTest, BufferTimeoutsAreOfTheOperatorOrOfTheJob) {
  const auto timeout = [](const std::function<void(Environment&, DataStream<std::string>&)>& set) {
    return Built([&](Environment& env) {
             auto stream = texts(env).map(identity);
             set(env, stream);
             stream.rebalance().map(identity).name("next").sink_to(discard_sink<std::string>());
           })
        .edge_into("next")
        .buffer_timeout_ms;
  };
  EXPECT_EQ(timeout([](auto&, auto&) {}), std::nullopt);
  EXPECT_EQ(timeout([](auto& env, auto&) { env.set_buffer_timeout(5ms); }), 5u);
  EXPECT_EQ(timeout([](auto& env, auto& s) {
              s.set_buffer_timeout(0ms);
              env.set_buffer_timeout(5ms);
            }),
            0u);
  EXPECT_EQ(timeout([](auto&, auto& s) { s.set_buffer_timeout(kNoBufferTimeout); }),
            kNeverFlushedByTime);
  EXPECT_EQ(timeout([](auto& env, auto&) { env.set_buffer_timeout(Duration::max()); }),
            kNeverFlushedByTime);
}

TEST(DataStreamTest, PartitionsByAFunctionOfTheUser) {
  const Built built([](Environment& env) {
    texts(env)
        .partition_custom(
            [](const size_t& size, uint32_t partitions) -> uint32_t { return size % partitions; },
            &std::string::size)
        .map(identity)
        .name("next")
        .sink_to(discard_sink<std::string>());
  });
  EXPECT_EQ(built.edge_into("next").partitioning, Partitioning::kCustom);
  const auto edge = built.job->edge_type(built.op("texts").id, 0, built.op("next").id, 0);
  const std::string text = "seven..";
  EXPECT_EQ(edge->target(&text, 4), 3u);
}

TEST(DataStreamTest, ForgetsAPartitionerWhenSpreadOtherwise) {
  const Built built([](Environment& env) {
    texts(env)
        .partition_custom([](const size_t&, uint32_t) { return 0u; }, &std::string::size)
        .key_by(&identity)
        .reduce([](const std::string& a, const std::string&) { return a; })
        .sink_to(discard_sink<std::string>());
  });
  EXPECT_EQ(built.edge_into("reduce").partitioning, Partitioning::kHash);
  const auto edge = built.job->edge_type(built.op("texts").id, 0, built.op("reduce").id, 0);
  const std::string text = "x";
  Encoder scratch;
  EXPECT_NE(edge->key_hash(&text, scratch), 0u);
}

std::string refusal_of(const std::function<void(Environment&)>& builder) {
  const Built built(builder);
  EXPECT_EQ(built.error.code(), StatusCode::kInvalidArgument);
  return built.error.message();
}

TEST(DataStreamTest, RefusesSettingsByTheNameOfTheOperator) {
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal_of([](Environment& env) { texts(env).set_buffer_timeout(25h); }),
              AllOf(HasSubstr("operator 'texts'"), HasSubstr("0 (each record")));
  EXPECT_THAT(refusal_of([](Environment& env) {
                texts(env).sink_to(discard_sink<std::string>()).set_buffer_timeout(1ms);
              }),
              AllOf(HasSubstr("'discard' is a sink"), HasSubstr("the operator before")));
  EXPECT_THAT(refusal_of([](Environment& env) { texts(env).set_max_parallelism(0); }),
              HasSubstr("the maximum parallelism of 'texts'"));
  EXPECT_THAT(refusal_of([](Environment& env) { env.set_buffer_timeout(25h); }),
              AllOf(HasSubstr("the job"), HasSubstr("to 24 h")));
  EXPECT_THAT(refusal_of([](Environment& env) { texts(env).slot_sharing_group(""); }),
              AllOf(HasSubstr("'texts'"), HasSubstr("default")));
  EXPECT_THAT(refusal_of([](Environment& env) {
                const auto one = texts(env);
                one.union_with(one.partition_custom([](const size_t&, uint32_t) { return 0u; },
                                                    &std::string::size))
                    .map(identity)
                    .name("both")
                    .sink_to(discard_sink<std::string>());
              }),
              AllOf(HasSubstr("'both'"), HasSubstr("'texts'"), HasSubstr("put a map()")));
  EXPECT_THAT(refusal_of([](Environment& env) {
                (void)env.from_source(data_generator([](uint64_t i) { return i; }, 1, -3));
              }),
              HasSubstr("-3 records per second"));
}

TEST(DataStreamTest, RefusesSettingsWhereThereIsNoOperator) {
  const auto refused = [](const std::function<void(Environment&)>& builder) {
    return Built(builder).error.code() == StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](Environment& env) { texts(env).union_with(texts(env)).name("x"); }));
  EXPECT_TRUE(refused([](Environment& env) { texts(env).rebalance().uid("x"); }));
  EXPECT_TRUE(refused([](Environment& env) { texts(env).set_parallelism(0); }));
  EXPECT_TRUE(refused(
      [](Environment& env) { texts(env).set_parallelism(2); }));  // Elements have one reader.
  EXPECT_TRUE(refused([](Environment& env) { env.from_source(Source<int64_t>()); }));
}

/// Counts words; the sum of nobody is asked for updates.
void count_words(Environment& env) {
  texts(env)
      .map([](const std::string& s) { return Word(s, 1); })
      .key_by([](const Word& word) { return word.first; })
      .reduce([](const Word& a, const Word& b) { return Word(a.first, a.second + b.second); },
              Emit::updates)
      .sink_to(discard_sink<Word>());
}

TEST(DataStreamTest, EmitsUpdatesInStreamingUnlessTold) {
  const Built built(count_words, options_with(2, RuntimeMode::kStreaming));
  for (const LogicalOperator& one : built.job->graph().operators) EXPECT_NE(one.name, "pre-reduce");
  testing::OperatorHarness<Word> reduce(*built.factory("reduce"));
  reduce.process(Word("a", 1));
  reduce.process(Word("a", 1));
  reduce.end();
  EXPECT_EQ(reduce.take_outputs(), (std::vector<Word>{{"a", 1}, {"a", 2}}));
}

TEST(DataStreamTest, EmitsFinalValuesInBatchAndAggregatesBeforeTheExchange) {
  for (const RuntimeMode mode : {RuntimeMode::kBatch, RuntimeMode::kAutomatic}) {
    const Built built(count_words, options_with(2, mode));
    using Part = Partial<std::string, Word>;
    testing::OperatorHarness<Part> before(*built.factory("pre-reduce"));
    for (const char* word : {"b", "a", "b"}) before.process(Word(word, 1));
    before.end();
    const std::vector<Part> parts = before.take_outputs();
    EXPECT_EQ(parts.size(), 2u);
    testing::OperatorHarness<Word> reduce(*built.factory("reduce"));
    for (int i = 0; i < 2; i++) {
      for (const Part& part : parts) reduce.process(part);
    }
    reduce.end();
    EXPECT_EQ(reduce.take_outputs(), (std::vector<Word>{{"a", 2}, {"b", 4}}));
    EXPECT_EQ(built.edge_into("pre-reduce").partitioning, Partitioning::kForward);
    EXPECT_EQ(built.edge_into("reduce").partitioning, Partitioning::kHash);
  }
}

TEST(DataStreamTest, AggregatesBeforeTheExchangeOfEveryStreamOfAUnion) {
  const auto builder = [](bool chaining) {
    return [chaining](Environment& env) {
      if (!chaining) env.disable_operator_chaining();
      const auto to_word = [](const std::string& s) { return Word(s, 1); };
      auto first = texts(env).map(to_word);
      first.set_parallelism(3);
      texts(env)
          .map(to_word)
          .union_with(first)
          .key_by([](const Word& word) { return word.first; })
          .sum(&Word::second)
          .uid("sum")
          .sink_to(discard_sink<Word>());
    };
  };
  const auto parallelisms = [](const Built& built) {
    std::multiset<uint32_t> found;
    for (const LogicalOperator& one : built.job->graph().operators) {
      if (one.name == "pre-sum") found.insert(one.parallelism);
    }
    return found;
  };
  const auto batch = options_with(2, RuntimeMode::kBatch);
  EXPECT_EQ(parallelisms(Built(builder(true), batch)), (std::multiset<uint32_t>{2, 3}));
  // Where it would be exchanged to them first, there are none.
  EXPECT_TRUE(parallelisms(Built(builder(false), batch)).empty());
}

TEST(DataStreamTest, KeepsTheExchangeThatItIsTold) {
  const Built built([](Environment& env) {
    texts(env)
        .rebalance()
        .exchange(Exchange::kBlocking)
        .map([](const std::string& s) { return Word(s, 1); })
        .key_by([](const Word& word) { return word.first; })
        .exchange(Exchange::kPipelined)
        .sum(&Word::second)
        .sink_to(discard_sink<Word>());
  });
  EXPECT_EQ(built.edge_into("map").exchange, Exchange::kBlocking);
  EXPECT_EQ(built.edge_into("sum").exchange, Exchange::kPipelined);
}

TEST(DataStreamTest, NobodyAsksForSplitsInBatch) {
  const auto feedback = [](RuntimeMode mode) {
    const Built built([](Environment& env) { texts(env).sink_to(discard_sink<std::string>()); },
                      options_with(2, mode));
    const auto& edges = built.job->graph().edges;
    return std::count_if(edges.begin(), edges.end(),
                         [](const LogicalEdge& edge) { return edge.feedback; });
  };
  EXPECT_EQ(feedback(RuntimeMode::kStreaming), 1);
  EXPECT_EQ(feedback(RuntimeMode::kBatch), 0);
}

}  // namespace
}  // namespace freshet
