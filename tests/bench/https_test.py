#!/usr/bin/env python3
"""`genscope bench` of https endpoints: whom it trusts, what it says where it does not."""
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from support import PATIENCE, SERVICE, ServiceCase

IMAGES = "/v1/images/generations"


def certificate(folder, name, subject, *more):
    """A key and its certificate in one file, for a day."""
    path = pathlib.Path(folder) / name
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", path.with_suffix(".key"), "-out", path, "-days", "1", "-subj", subject, *more],
                   check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_suffix(".key").read_text())
    return path


class HttpsTest(ServiceCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.cert = certificate(cls.folder.name, "server.pem", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
        cls.other = certificate(cls.folder.name, "other.pem", "/CN=somebody else")
        cls.SERVICE_WORDS = ("--seconds", "0.001", "--workers", "4", "--tls", str(cls.cert))
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def answered(self):
        context = ssl.create_default_context(cafile=str(self.cert))
        with urllib.request.urlopen(self.url + "/stats", timeout=PATIENCE, context=context) as answer:
            return json.load(answer)["requests"]

    def load(self, *words, code=0):
        done = self.bench("load", *words, "--requests", "40", code=code)
        return done.stdout + done.stderr

    def test_a_trusted_server_is_loaded_and_counts_the_same(self):
        before = self.answered()
        text = self.load(self.url + IMAGES, "--cacert", self.cert, "--rate", "400", "--slo", "60s@p50")
        self.assertIn("SLO met", text)
        self.assertEqual(self.answered() - before, 41)  # and the warm-up

    def test_a_chat_streams(self):
        self.assertIn("first token", self.load(self.url + "/v1/chat/completions", "--cacert", self.cert))

    def test_nobody_is_trusted_without_a_reason(self):
        before = self.answered()
        for words in ((), ("--cacert", self.other)):
            text = self.load(self.url + IMAGES, *words, code=7)
            self.assertIn("certificate is not trusted (self-signed certificate)", text)
            self.assertIn("--cacert", text)
        self.assertEqual(self.answered(), before)  # not a byte of a request was sent

    def test_a_certificate_is_for_one_host(self):
        text = self.load(self.url.replace("127.0.0.1", "localhost") + IMAGES, "--cacert", self.cert, code=7)
        self.assertIn("hostname mismatch", text)

    def test_insecure_works_and_warns(self):
        text = self.load(self.url + IMAGES, "--insecure")
        self.assertIn("warning: --insecure", text)
        self.assertIn("40 requests answered", text)

    def test_a_file_that_is_none_is_named(self):
        (self.dir / "empty.pem").write_text("nothing")
        self.assertIn("empty.pem: no certificates", self.load(self.url, "--cacert", "empty.pem", code=2))
        self.assertIn("missing.pem: cannot be read", self.load(self.url, "--cacert", "missing.pem", code=2))

    def test_http_spoken_to_https_and_the_other_way(self):
        self.assertIn("closed the connection", self.load(self.url.replace("https", "http") + IMAGES, code=7))
        plain = subprocess.Popen([sys.executable, SERVICE], stdout=subprocess.PIPE, text=True)
        try:
            url = plain.stdout.readline().strip().replace("http", "https")
            self.assertIn("cannot agree on TLS", self.load(url, "--insecure", code=7))
        finally:
            plain.kill()
            plain.communicate()

    def test_a_suite_names_its_certificate_beside_itself(self):
        (self.dir / "ca.pem").write_text(self.cert.read_text())
        more = "  processes: 2\n  iterations: 3\nprompts: {list: [a cat]}\n"
        runner = (f"    command: exec {sys.executable} {SERVICE} --tls {self.cert} --seconds 0.001 --port {{port}}\n"
                  f"    url: https://127.0.0.1:{{port}}{IMAGES}\n    ready: https://127.0.0.1:{{port}}/health\n")
        sample = self.result("run", self.suite(runner + "    cacert: ca.pem", more))["cells"][0]["units"][0]["samples"]
        self.assertEqual([("connect_s" in one) for one in sample], [True, False, False])
        done = self.bench("run", self.suite(f"    url: {self.url}{IMAGES}\n    insecure: true", more))
        self.assertIn("certificate was not checked", done.stdout + done.stderr)
        done = self.bench("run", self.suite(f"    url: {self.url}{IMAGES}", more), code=(4, 7))
        self.assertIn("certificate is not trusted", done.stdout + done.stderr)

    def test_prompts_go_over_https(self):
        words = ("e2e", self.url + IMAGES, "--prompt", "a cat", "--repeat", "3")
        self.assertIn("3 of 3", self.bench(*words, "--cacert", self.cert, code=(0, 1)).stdout)
        self.bench(*words, code=(4, 7))


if __name__ == "__main__":
    unittest.main()
