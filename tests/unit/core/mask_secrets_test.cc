// Secrets in every writing in which an environment gets into a ticket, and what is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/mask.h"

namespace comm_probe::core {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_gone(const std::string& text) {
  Masker masker;
  masker.learn(text);
  const std::string masked = masker.masked_text(text);
  EXPECT_THAT(masked, Not(HasSubstr("hush"))) << text;
  EXPECT_THAT(masked, HasSubstr(std::string(kSecretMask))) << text;
  EXPECT_EQ(std::count(masked.begin(), masked.end(), '\n'),
            std::count(text.begin(), text.end(), '\n'));
}

// The name in one key, the value in another: Kubernetes, ECS, Terraform, XML; in either order.
TEST(MaskSecrets, NameAndValueInTwoKeys) {
  for (const char* text :
       {"env:\n  - name: HF_TOKEN\n    value: hush1\n", "- name: HF_TOKEN\n  value: \"hush 2\"\n",
        "- value: hush3\n  name: DB_PASSWORD\n", "[{\"name\": \"HF_TOKEN\", \"value\": \"hush4\"}]",
        "[{\"value\":\"hush5\",\"name\":\"HF_TOKEN\"}]",
        "{\n \"name\": \"WANDB_API_KEY\",\n \"value\": \"hush6\"\n}",
        "<env name=\"HF_TOKEN\" value=\"hush7\"/>",
        "env {\n  name = \"DB_PASS\"\n  value = \"hush8\"\n}", "- {name: HF_TOKEN, value: hush9}",
        "- name: SSH_PRIVATE_KEY\n  value: |\n    hush\n    hush\n",
        "x \"{\\\"name\\\": \\\"HF_TOKEN\\\", \\\"value\\\": \\\"hush10\\\"}\"",
        "- key: HF_TOKEN\n  value: hush words\n"})
    expect_gone(text);
  Masker masker;
  for (const char* text :
       {"- name: NCCL_DEBUG\n  value: INFO\n- name: HF_TOKEN\n  valueFrom:\n    secretKeyRef: x\n",
        "[{\"name\": \"NCCL_ALGO\", \"value\": \"Ring\"}, {\"name\": \"max_tokens\", \"value\": "
        "\"1\"}]",
        "- name: HF_TOKEN\n- name: NCCL_PROTO\n  value: LL128\n"})
    EXPECT_EQ(masker.masked_text(text), text);
  EXPECT_EQ(
      masker.masked_text("- name: HF_TOKEN\n  value: hush\n- name: NCCL_PROTO\n  value: LL\n"),
      "- name: HF_TOKEN\n  value: <secret>\n- name: NCCL_PROTO\n  value: LL\n");
}

TEST(MaskSecrets, ValueInTheNextLines) {
  for (const char* text :
       {"{\"password\":\n   \"hush1\",\n \"x\": 1}",
        "data:\n  password: |\n    hush\n    hush\n  x: 1\n", "token: >-\n  hush\nx: 1\n"}) {
    expect_gone(text);
    Masker masker;
    EXPECT_THAT(masker.masked_text(text), HasSubstr("x"));
  }
}

// A value ends at its quote, not at a blank or a comma in it.
TEST(MaskSecrets, QuotedValues) {
  for (const char* text : {"--password 'hush hush, hush'",
                           "--password=\"hush hush\"",
                           "DB_PASSWORD='hush; hush'",
                           "\"password\": \"hush, hush\"",
                           "password: 'hush \"hush\" hush'",
                           "password = hush hush",
                           "token: hush hush",
                           "\"password\": \"hush \\\" hush\"",
                           "{\\\"password\\\": \\\"hush hush\\\"}",
                           "os.environ[\"HF_TOKEN\"] = \"hush hush\"",
                           "('HF_TOKEN', 'hush hush')",
                           "PASSWORD=hush\"hush hush\" x",
                           "--token \"hush hush",
                           "[\"--token\", \"hush hush\"]",
                           "passwd: 'it''s hush'",
                           "PASSWORD=\"a\"\"hush\"",
                           "{\"token\": \"x\\\"y hush\", \"k\": 1}",
                           "A_TOKEN='tok with blanks hush'",
                           "api_key = f\"hush\"",
                           "AccountKey=hushHH==;EndpointSuffix=core.windows.net"})
    expect_gone(text);
  Masker masker;
  EXPECT_EQ(masker.masked_text("run --password 'hush 7' --nodes 2"),
            "run --password '<secret>' --nodes 2");
  EXPECT_EQ(masker.masked_text("HF_TOKEN=hush NCCL_DEBUG=INFO python x.py"),
            "HF_TOKEN=<secret> NCCL_DEBUG=INFO python x.py");
}

TEST(MaskSecrets, NamesOfSecrets) {
  for (const char* text : {"declare -x DB_PASS=\"hush\"",
                           "GITHUB_PAT=hush",
                           "SSH_AUTH=hush",
                           "REDIS_AUTH=hush",
                           "SLACK_WEBHOOK=https://hooks.slack.example/services/T000/B000/hush",
                           "post https://hooks.slack.example/services/T000/B000/hush now",
                           "https://chat.example/api/webhooks/1/hush",
                           "DOCKER_AUTH_CONFIG='{\"auths\":{\"x\":{\"auth\":\"hush\"}}}'",
                           "DOCKER_AUTH_CONFIG={\"auths\":{\"x\":{\"auth\":\"hush\"}}}",
                           "{\"auth\": \"hush\"}",
                           "machine api.example login user password hush",
                           "  password hush",
                           "https://x.example/b?sv=1&sig=hush%3D&se=2026",
                           "?sig=hush%3D",
                           "X-Amz-Signature=hush",
                           "?X-Amz-Credential=hush&x=1",
                           "MYSQL_PWD=hush",
                           "--db-pass hush",
                           "Cookie: a=hush; b=hush",
                           "setenv HF_TOKEN hush",
                           "setenv(\"HF_TOKEN\", \"hush\")",
                           "ENV HF_TOKEN hush",
                           "STORAGE_CONNECTION_STRING=Account=x;Key=hush",
                           "spark.s3a.secret.key=hush",
                           "Authorization: Basic hush",
                           "curl -u bob:hush https://x.example",
                           "docker login -u bob -p hush",
                           "clientSecret: hush",
                           "ENCRYPTION_KEY=hush",
                           "OPENAI_KEY=hush",
                           "export ANTHROPIC_KEY='hush'",
                           "sshpass -p hush ssh node03",
                           "sshpass -p 'hush hush' ssh node03",
                           "sshpass -phush ssh node03",
                           "mysql -u bob -phush db",
                           "curl --user bob:hush https://x",
                           "the password is hush",
                           "password is hush7"})
    expect_gone(text);
  Masker masker;
  for (const std::string key : {"0123456789abcdef0123456789abcdef01234567"})
    EXPECT_EQ(masker.masked_text("wandb login " + key), "wandb login <secret>");
  EXPECT_EQ(masker.masked_text("dsn https://0123456789abcdef0123456789abcdef@x/1"),
            "dsn https://<secret>@x/1");
}

// What an analysis reads and only sounds like a secret.
TEST(MaskSecrets, WhatIsNone) {
  Masker masker;
  for (const std::string text : {"PASS: 12 of 12",
                                 "forward_pass: 12.3 ms",
                                 "backward-pass = 3.4",
                                 "AuthType=auth/munge",
                                 "NCCL_IB_PKEY=0",
                                 "PATH=/usr/bin",
                                 "PWD=/run/x",
                                 "pass: 3",
                                 "use_auth_token: null",
                                 "monkey: 3",
                                 "the password is not shown",
                                 "password for the job:",
                                 "password is required",
                                 "the password is wrong.",
                                 "CACHE_KEY=a1",
                                 "SORT_KEY: rank",
                                 "mkdir -p out",
                                 "std::token::next(3)",
                                 "pattern=ring",
                                 "author: x",
                                 "keys: 3",
                                 "max_tokens: 4096",
                                 "signature: all_reduce(Tensor)",
                                 "hash=0123456789abcdef0123456789abcdef01234567",
                                 "NCCL_ALGO=Ring"})
    EXPECT_EQ(masker.masked_text(text), text);
}

}  // namespace
}  // namespace comm_probe::core
