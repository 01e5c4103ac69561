// What a healthy job prints too: caught exceptions, notices of the driver. And what a program's own
// fault is: no reason to drain a host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

class Caught : public Pile {
 protected:
  json of_text(const std::string& text) { return told({put("train.log", text)}); }
};

constexpr const char* kTraceback =
    "Traceback (most recent call last):\n  File \"/x/metrics.py\", line 3, in push\n"
    "ConnectionRefusedError: [Errno 111] Connection refused\n";

TEST_F(Caught, StepsAfterATracebackProveThatTheRankLives) {
  const json lives = of_text(std::string(kTraceback) +
                             "INFO push failed, continuing\nstep 10 loss 2.1\nstep 20 loss 2.0\n");
  EXPECT_TRUE(lives["findings"].empty()) << lives["findings"].dump(1);
  EXPECT_TRUE(has_id(lives["caveats"], "job.exception-survived"));
  // Nothing follows; or only the step that another rank had begun.
  for (const char* after : {"", "step 11 loss 2.1\n", "step 11 loss 2.1\nstep 12 loss 2.0\n"}) {
    const json dead = of_text("step 10 loss 2.2\n" + std::string(kTraceback) + after);
    EXPECT_TRUE(has_id(dead["findings"], "log.exception")) << after;
  }
  // Another rank's steps.
  std::string traceback = kTraceback;
  for (std::size_t at = 0; at < traceback.size(); at = traceback.find('\n', at) + 1)
    traceback.insert(at, "[rank3]: ");
  const json other = of_text(traceback + "[rank0]: step 10 loss 2.1\n[rank0]: step 20 loss 2.0\n");
  EXPECT_TRUE(has_id(other["findings"], "log.exception"));
}

std::string xid(int code) {
  return "[ 1234.5] NVRM: Xid (PCI:0000:19:00): " + std::to_string(code) +
         ", pid=4711, name=python, something\n";
}

TEST_F(Caught, XidsAccuseWhoIsAtFault) {
  for (const int code : {13, 31, 43}) {
    const json document = of_text(xid(code));
    EXPECT_EQ(document["findings"][0]["id"], "log.gpu-program-error") << code;
    EXPECT_EQ(document["findings"][0]["layer"], "application") << code;
    EXPECT_FALSE(has_id(document["findings"], "log.gpu-fault")) << code;
  }
  for (const int code : {45, 63, 92, 154})
    for (const json& finding : of_text(xid(code))["findings"])
      EXPECT_EQ(finding["severity"], "info") << code << finding;
  for (const int code : {48, 64, 74, 79, 94, 95, 119, 120})
    EXPECT_EQ(of_text(xid(code))["findings"][0]["id"], "log.gpu-fault") << code;
  // Of several the fault is named, whatever came first.
  const json several = of_text(xid(45) + xid(43) + xid(79));
  EXPECT_THAT(several["findings"][0]["summary"].get<std::string>(), HasSubstr("Xid 79"));
}

}  // namespace
}  // namespace comm_probe::test
