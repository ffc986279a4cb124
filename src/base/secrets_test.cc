#include "base/secrets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace genscope::base {
namespace {

using Words = std::vector<std::string>;

struct WordsCase {
  Words given, wanted;
};

TEST(Secrets, AreMaskedInCommandLines) {
  const std::vector<WordsCase> cases = {
      {{"x", "--api-key", "sk-SECRET1"}, {"x", "--api-key", "***"}},
      {{"x", "--token=hf_SECRET2"}, {"x", "--token=***"}},
      {{"x", "https://u:SECRET3@host/"}, {"x", "https://u:***@host/"}},
      {{"x", "--password", "two words"}, {"x", "--password", "***"}},
      {{"x", "--password=two words; three & four"}, {"x", "--password=***"}},
      {{"x", "-token", "abc"}, {"x", "-token", "***"}},
      {{"x", "--hf_token", "abc"}, {"x", "--hf_token", "***"}},
      {{"x", "--hfToken", "abc"}, {"x", "--hfToken", "***"}},
      {{"x", "--token", "-8fJk2LmN0pQrStUv"}, {"x", "--token", "***"}},
      {{"env", "HF_TOKEN=a b c", "x"}, {"env", "HF_TOKEN=***", "x"}},
      {{"env", "AWS_SECRET_ACCESS_KEY=wJalr/XUt"}, {"env", "AWS_SECRET_ACCESS_KEY=***"}},
      {{"env", "PGPASSWORD=x", "MYSQL_PWD=y"}, {"env", "PGPASSWORD=***", "MYSQL_PWD=***"}},
      {{"env", "OPENAI_API_KEY_PROD=x", "HF_TOKEN_2=y", "API_KEY1=z"},
       {"env", "OPENAI_API_KEY_PROD=***", "HF_TOKEN_2=***", "API_KEY1=***"}},
      {{"docker", "run", "-e", "WANDB_API_KEY=0123456789abcdef"},
       {"docker", "run", "-e", "WANDB_API_KEY=***"}},
      {{"cmake", "-DTOKEN=abc"}, {"cmake", "-DTOKEN=***"}},
      {{"x", "auth.token=abc", "+trainer.api_key=d"},
       {"x", "auth.token=***", "+trainer.api_key=***"}},
      {{"curl", "-u", "me:SECRET"}, {"curl", "-u", "me:***"}},
      {{"webui", "--gradio-auth", "me:SECRET"}, {"webui", "--gradio-auth", "me:***"}},
      {{"curl", "-H", "Authorization: Bearer abc"}, {"curl", "-H", "Authorization: Bearer ***"}},
      {{"curl", "-H", "Cookie: a=SECRET; b=SECRET"}, {"curl", "-H", "Cookie: ***"}},
      {{"curl", "-H", "X-Api-Key: abc"}, {"curl", "-H", "X-Api-Key: ***"}},
      {{"sshpass", "-p", "SECRET", "ssh", "h"}, {"sshpass", "-p", "***", "ssh", "h"}},
      {{"mysql", "-uroot", "-pSECRET"}, {"mysql", "-uroot", "-p***"}},
      {{"redis-cli", "-a", "SECRET"}, {"redis-cli", "-a", "***"}},
      {{"x", "--key", "8f14e45fceea167a5a36dedd4bea2543"}, {"x", "--key", "***"}},
      {{"x", "--private-key", "MIIEvQIBADANBg"}, {"x", "--private-key", "***"}},
      {{"x", "--db-pass", "SECRET"}, {"x", "--db-pass", "***"}},
      {{"bash", "-c", "HF_TOKEN=SECRET python gen.py --steps 20"},
       {"bash", "-c", "HF_TOKEN=*** python gen.py --steps 20"}},
      {{"bash", "-lc", "x --password 'a b' --steps 4"},
       {"bash", "-lc", "x --password '***' --steps 4"}},
      {{"x", "--credentials", "{\"a\":1}"}, {"x", "--credentials", "***"}},
      {{"docker", "login", "-u", "me", "-p", "SECRET"},
       {"docker", "login", "-u", "me", "-p", "***"}},
      {{"x", "--auth-token=abc", "--client-secret", "x", "--bearer", "y"},
       {"x", "--auth-token=***", "--client-secret", "***", "--bearer", "***"}},
      {{"x", "--env=HF_TOKEN=abc", "DATABASE_URL=postgres://u:p@h/db"},
       {"x", "--env=HF_TOKEN=***", "DATABASE_URL=postgres://u:***@h/db"}},
      {{"curl", "-HAuthorization: Bearer abc", "--data", "password=abc&user=x"},
       {"curl", "-HAuthorization: Bearer ***", "--data", "password=***"}},
      {{"x", "git+https://oauth2:glpat-abc@gitlab.com/x.git"},
       {"x", "git+https://oauth2:***@gitlab.com/x.git"}},
      {{"x", "ghp_abc123", "xoxb-1234567", "sk-abc123def456"}, {"x", "***", "***", "***"}},
      {{"x", "A=1\nDB_PASSWORD=x\nB=2"}, {"x", "A=1\nDB_PASSWORD=***\nB=2"}},
      {{"python", "-c", "import os; os.environ['OPENAI_API_KEY']='abc'; login(token='x')"},
       {"python", "-c", "import os; os.environ['OPENAI_API_KEY']='***'; login(token='***')"}},
      {{"x", "--secret=*** "}, {"x", "--secret=***"}},
  };
  for (const WordsCase& c : cases) {
    EXPECT_EQ(mask_secrets(c.given), c.wanted);
    EXPECT_EQ(mask_secrets(c.wanted), c.wanted) << "a second time";
  }
}

TEST(Secrets, OtherWordsOfCommandLinesStay) {
  const std::vector<Words> cases = {
      {"x", "--tokens", "77"},
      {"x", "--max-tokens", "512", "--max_new_tokens=99", "--max-token", "5"},
      {"x", "--tokenizer", "mistralai/Mistral-7B-Instruct-v0.2", "--tokenizer=foo"},
      {"x", "--seed", "123456789012", "--seed=123456789012"},
      {"sd", "-p", "a key on a table", "--prompt", "a secret token, (key:1.2), a password"},
      {"x", "--prompt", "the token: 1.2", "-p", "a (token:1.3) b"},
      {"x", "--keyframes", "0,10,20", "--key-frames", "3", "--keyframe=4"},
      {"x", "--key", "value", "--sort-key=name", "--cache-key", "sdxl-base-1.0-fp16-1024x1024"},
      {"x", "--token-file", "secrets/token.txt", "--password-stdin", "--token-count=9"},
      {"x", "--ssh-key", "~/.ssh/id_rsa", "--private-key", "keys/host.pem"},
      {"env", "GOOGLE_APPLICATION_CREDENTIALS=/etc/gcp/key.json", "PWD=/srv", "OLDPWD=/srv/x"},
      {"git", "checkout", "31c1cbd5f0a8e7d6c5b4a39281706f5e4d3c2b1a"},
      {"x", "--pad-token", "<pad>", "--placeholder_token=<cat>", "--initializer-token", "toy"},
      {"x", "--use-auth-token", "true", "--token=", "--hf-token=None"},
      {"docker", "run", "-u", "1000:1000", "--user", "0:0", "-p", "8080:80", "nvidia/cuda:12.1"},
      {"docker", "pull", "repo/x:tag@sha256:8f14e45fceea167a5a36dedd4bea2543"},
      {"python", "-u", "train.py", "--pass", "2"},
      {"ffmpeg", "-pass", "1", "-pass", "2"},
      {"scp", "me@host:path", "git@github.com:org/repo.git", "mailto:me@host.org"},
      {"curl", "http://localhost:8080/x@y", "https://host/a?size=3&steps=20"},
      {"npm", "npm:react@18.2.0", "model:tag@v2"},
      {"x", "sk-learn", "hf_transfer", "hf_model_v2.py", "./hf_llama3/x", "sk-image-0.22"},
      {"x", "--model", "models/AKIRA.safetensors", "key=value", "--monkey", "3", "--turkey=x"},
      {"x", "--author", "me", "--authority=a", "--compass", "N", "--bypass", "x", "--passes=3"},
      {"bash", "-c", "x --token $HF_TOKEN --password ${PW}"},
      {"x", "550e8400-e29b-41d4-a716-446655440000", "--id", "550e8400-e29b-41d4-a716-446655440000"},
      {"python", "-c", "import x; x.run(tokens=77, steps=20)"},
      {"x", "--signature-version", "s3v4", "--secretary", "Ann", "--tokenize", "yes"},
  };
  for (const Words& words : cases) EXPECT_EQ(mask_secrets(words), words);
}

struct TextCase {
  std::string given, wanted;
};

TEST(Secrets, AreMaskedInTexts) {
  const std::vector<TextCase> cases = {
      {"curl -H \"Authorization: Bearer abc.def\" x", "curl -H \"Authorization: Bearer ***\" x"},
      {"curl -H 'Authorization: Basic dTpw' x", "curl -H 'Authorization: Basic ***' x"},
      {"a; export HF_TOKEN=abc; b", "a; export HF_TOKEN=***; b"},
      {"a --token abc --steps 3", "a --token *** --steps 3"},
      {"a --token=abc,def --steps 3", "a --token=*** --steps 3"},
      {"run(['x', '--token', 'abc', 'y'])", "run(['x', '--token', '***', 'y'])"},
      {"f(api_key=\"abc\", n=3)", "f(api_key=\"***\", n=3)"},
      {"f(token = 'abc')", "f(token = '***')"},
      {"os.environ[\"HF_TOKEN\"] = \"abc\"", "os.environ[\"HF_TOKEN\"] = \"***\""},
      {R"({"hf_token": "abc", "steps": 20})", R"({"hf_token": "***", "steps": 20})"},
      {R"({\"password\":\"abc\",\"n\":1})", R"({\"password\":\"***\",\"n\":1})"},
      {"https://h/x?token=abc&n=1", "https://h/x?token=***&n=1"},
      {"https://h/x?n=1&sig=ab%2Bc&se=2", "https://h/x?n=1&sig=***&se=2"},
      {"https://h/x?X-Amz-Credential=AKIA/2&X-Amz-Signature=12ab&n=1",
       "https://h/x?X-Amz-Credential=***&X-Amz-Signature=***&n=1"},
      {"https://h/?access_token=abc#x y", "https://h/?access_token=*** y"},
      {"https://h/?key=abc", "https://h/?key=***"},
      {"https://h/?next=https%3A%2F%2Fi%3Ftoken%3Dabc%26n%3D1",
       "https://h/?next=https%3A%2F%2Fi%3Ftoken%3D***%26n%3D1"},
      {"postgres://u:p/w#x@y@host:5432/db", "postgres://u:***@host:5432/db"},
      {"https://u:abc@host/x@v1?y=z@w", "https://u:***@host/x@v1?y=z@w"},
      {"redis://:abc@host", "redis://:***@host"},
      {"https://0123456789abcdef0123@github.com/x", "https://***@github.com/x"},
      {"u:abc@tcp(host:3306)/db", "u:***@tcp(host:3306)/db"},
      {"Server=h;User=u;Password=abc;Port=3", "Server=h;User=u;Password=***;Port=3"},
      {"echo ghp_ABCDEFghijkl0123 | x", "echo *** | x"},
      {"github_pat_11AB_cdEF glpat-Ab_12-cd xoxb-12-Ab34", "*** *** ***"},
      {"AKIAIOSFODNN7EXAMPLE AIzaSyA-1234567890_abcdefghijklmno", "*** ***"},
      {"(eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln)", "(***)"},
      {"hf_AbCdEfGhIjKlMnOp sk-proj-Ab12_cd34", "*** ***"},
      {"a/hf_AbCdEfGhIjKlMnOp?x", "a/***?x"},
      {"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- x",
       "-----BEGIN RSA PRIVATE KEY*** x"},
      {"-----BEGIN PRIVATE KEY-----\nMII", "-----BEGIN PRIVATE KEY***"},
      {"sshpass -p SECRET ssh -p 22 h; x -p 3", "sshpass -p *** ssh -p *** h; x -p 3"},
      {"mysql -u root -pSECRET db", "mysql -u root -p*** db"},
      {"password: hunter2\nsteps: 20", "password: ***\nsteps: 20"},
      {"token=$'a b' x", "token=$'***' x"},
      {"--password=my\\ pass x", "--password=*** x"},
      {"x --token \"abc", "x --token \"***"},
  };
  for (const TextCase& c : cases) {
    EXPECT_EQ(mask_secrets(std::string_view(c.given)), c.wanted);
    EXPECT_EQ(mask_secrets(std::string_view(c.wanted)), c.wanted) << "a second time";
  }
}

TEST(Secrets, OtherTextsStay) {
  const std::vector<std::string> cases = {
      "",
      "a key on a table, the secret garden, a token of love, bearer of bad news",
      "python gen.py --prompt 'a (key:1.2), masterpiece' --steps 20",
      "if token == other: pass",
      "pip install x==1.2 && make -j8 2>&1 | tee log.txt",
      "https://host:8080/a/b?c=d&e=f#g",
      "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
      "C++::token, std::key",
      "for i in $(seq 3); do echo $i; done",
      "\xff\xfe=\x80:@%zz",
  };
  for (const std::string& text : cases) EXPECT_EQ(mask_secrets(std::string_view(text)), text);
}

// Each of these made a naive scan quadratic: a test that hangs here has found one.
TEST(Secrets, HostileTextsTakeLinearTime) {
  constexpr std::size_t kBytes = 64 << 10;
  for (const std::string piece :
       {"key=", "sk-", "://", "a:", "--key ", "eyJ", "\"", "@", "key='", "a:b@", "://a:b/",
        "-----BEGIN ", "%3D", "key:", "\\\"", "bearer "}) {
    std::string text;
    while (text.size() < kBytes) text += piece;
    EXPECT_LE(mask_secrets(std::string_view(text)).size(), text.size() + 3);
  }
}

}  // namespace
}  // namespace genscope::base
