// Losses and norms as trainings print them.
#include "torch/number_lines.h"

#include <gtest/gtest.h>

#include <cmath>

namespace comm_probe::torch {
namespace {

NumberLines lines_of(const std::string& file, const std::string& text) {
  auto input = core::Input::from_memory(file, text);
  NumberLineReader reader;
  reader.begin_file(file);
  core::LineReader lines(input);
  for (core::Line line; lines.next(line);) reader.add(line);
  return reader.finish();
}

// Records begin with inf (early stopping, checkpoints): they are no loss of a step.
TEST(NumberLines, RecordsAreNoLosses) {
  for (const char* text :
       {"Epoch 1: best_val_loss=inf, loss=1.9", "epoch 1 best loss: inf loss: 1.9",
        "min_loss=inf loss=1.9", "lowest val_loss inf | loss 1.9"}) {
    const NumberLines lines = lines_of("a.log", text);
    ASSERT_EQ(lines.numbers.size(), 1U) << text;
    EXPECT_EQ(lines.numbers[0].value, 1.9) << text;
  }
  EXPECT_EQ(lines_of("a.log", "step 3 val_loss=inf").numbers.size(), 1U);
}

// The worked example of number_lines.h.
TEST(NumberLines, TheWaysToPrintThem) {
  struct Case {
    const char* text;
    int rank;
    std::int64_t step;
    double loss;
    double norm;
  };
  for (const Case& one : {
           Case{"[rank3]: step 12  loss: 2.31  grad_norm: 0.82", 3, 12, 2.31, 0.82},
           Case{
               "7:  iteration       12/     100 | lm loss: 2.31E+00 | loss scale: 1.0 | grad norm: "
               "0.820 | number of skipped iterations:   0 |",
               7, 12, 2.31, 0.82},
           Case{"{'loss': 2.31, 'grad_norm': 0.82, 'learning_rate': 1e-05, 'step': 12}", -1, 12,
                2.31, 0.82},
           Case{"[1,5]<stdout>:step=12 loss=2.31 gnorm=0.82", 5, 12, 2.31, 0.82},
           Case{"rank=4 local_rank=0 step: 12 loss: tensor(2.31) grad_norm: tensor(0.82)", 4, 12,
                2.31, 0.82},
       }) {
    const NumberLines lines = lines_of("train.log", one.text);
    ASSERT_EQ(lines.numbers.size(), 2u) << one.text;
    for (const LoggedNumber& number : lines.numbers) {
      EXPECT_EQ(number.rank, one.rank) << one.text;
      EXPECT_EQ(number.step, one.step) << one.text;
      EXPECT_EQ(number.value, number.quantity == Quantity::kLoss ? one.loss : one.norm) << one.text;
    }
  }
}

TEST(NumberLines, NamesThatAreNoLoss) {
  EXPECT_TRUE(lines_of("a.log",
                       "loss scale: 65536\nlossless 3\nglossy: 4\nloss: none\nloss 3/4\n"
                       "no loss of generality 5\n")
                  .numbers.empty());
}

TEST(NumberLines, NaNInfAndTheRankOfTheFile) {
  const NumberLines lines = lines_of("logs/rank12.log",
                                     "step: 1 loss: nan grad_norm: -inf\n"
                                     "step: 2 loss: NaN grad_norm: inf\n");
  ASSERT_EQ(lines.numbers.size(), 4u);
  EXPECT_EQ(lines.texts.size(), 4u);
  for (const LoggedNumber& number : lines.numbers) {
    EXPECT_FALSE(std::isfinite(number.value));
    EXPECT_EQ(number.rank, 12);
  }
  EXPECT_EQ(lines.texts.at(0), "step: 1 loss: nan grad_norm: -inf");
}

TEST(NumberLines, WithoutAStepLinesAreCounted) {
  const NumberLines lines = lines_of("rank_0.log", "loss 3.0\nloss 2.9\n");
  ASSERT_EQ(lines.numbers.size(), 2u);
  EXPECT_EQ(lines.numbers[0].step, 0);
  EXPECT_EQ(lines.numbers[1].step, 1);
}

TEST(NumberLines, StatementsOfChecks) {
  const NumberLines lines = lines_of(
      "job.log",
      "[rank1]:c10d/NanCheck.cu:219: checkForNaN: block: [0,0,0], thread: [33,0,0] Assertion "
      "`!isnan(tailPtr[threadIdx.x])` failed.\n"
      "[rank2]: RuntimeError: found NaN in local grad norm for bucket #0 in backward pass before "
      "data-parallel communication collective. Device: 2, node: node01\n"
      "[rank0]: RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.\n"
      "[rank0]: RuntimeError: found Inf in local grad norm for bucket #1\n"
      "NaN checks are on\n");
  ASSERT_EQ(lines.statements.size(), 4u);
  EXPECT_EQ(lines.statements[0].rank, 1);
  EXPECT_EQ(lines.statements[1].rank, 2);
  EXPECT_TRUE(lines.statements[1].is_before_communication);
}

}  // namespace
}  // namespace comm_probe::torch
