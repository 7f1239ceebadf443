#include <algorithm>
#include <sstream>

#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/text_files.h"
#include "tests/sim/sim_job.h"

namespace freshet::sim {

namespace {

constexpr uint32_t kFiles = 3;
constexpr uint32_t kLines = 40;

struct WordCount {
  std::string word;
  uint64_t count = 0;
};

std::string text_of_file(uint32_t file) {
  std::string text;
  for (uint32_t line = 0; line < kLines; ++line) {
    for (uint32_t word = 0; word < 6; ++word) {
      text += "word" + std::to_string((file * 31 + line * 7 + word * word) % 23) + ' ';
    }
    text += line % 3 == 0 ? "\r\n" : "\n";
  }
  return text;
}

void build_word_count(const std::string& output, Environment& env) {
  env.from_source(text_files({"/shared/in"}))
      .flat_map([](const std::string& line, Collector<WordCount>& out) {
        std::istringstream words(line);
        for (std::string word; words >> word;) out.collect(WordCount{word, 1});
      })
      .key_by(&WordCount::word)
      .sum(&WordCount::count, Emit::final)
      .sink_to(file_sink<WordCount>(output, [](const WordCount& counted, std::string& line) {
        line += counted.word + ' ' + std::to_string(counted.count);
      }));
}

}  // namespace

SimJob word_count_job(const std::string& output) {
  SimJob job{.name = "word_count",
             .builder = [output](Environment& env) { build_word_count(output, env); },
             .output = output};
  job.build.parallelism = 4;
  job.build.configuration["source.file.split-size"] = "500";
  std::map<std::string, uint64_t> counts;
  for (uint32_t file = 0; file < kFiles; ++file) {
    const std::string content = text_of_file(file);
    std::istringstream text(content);
    for (std::string word; text >> word;) ++counts[word];
    job.inputs["/shared/in/" + std::to_string(file) + ".txt"] = content;
  }
  for (const auto& [word, count] : counts)
    job.expected.push_back(word + ' ' + std::to_string(count));
  std::sort(job.expected.begin(), job.expected.end());
  return job;
}

}  // namespace freshet::sim
