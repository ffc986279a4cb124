#!/usr/bin/env python3
"""genscope.optimize.Cache with tensors: keys by content, weights, and what disk and Redis keep."""
import shutil
import tempfile
import unittest

import numpy
import torch

from genscope.optimize import Cache, _plain, key


class Tensors(unittest.TestCase):
    def test_keys_are_by_content_shape_and_type(self):
        tensor = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4)
        self.assertEqual(key("k", tensor), key("k", tensor.clone()))
        self.assertEqual(key("k", tensor.t()), key("k", tensor.t().contiguous()))
        for other in (tensor + 1, tensor.reshape(4, 3), tensor.float(), numpy.arange(12.0)):
            self.assertNotEqual(key("k", tensor), key("k", other))

    def test_they_come_back_bit_for_bit(self):
        for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.int64, torch.uint8, torch.bool):
            tensor = (torch.randn(2, 3, 5) * 3).to(dtype)
            for given in (tensor, tensor.transpose(0, 2), tensor[:0], tensor.sum()):
                back = _plain.loads(_plain.dumps((given,)))[0]
                self.assertEqual((back.dtype, back.shape), (given.dtype, given.shape))
                self.assertTrue(torch.equal(back, given))

    def test_an_embedding_outlives_the_cache(self):
        folder = tempfile.mkdtemp(prefix="genscope-cache-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        embedding = (torch.randn(1, 77, 768, dtype=torch.bfloat16), torch.ones(1, 77, dtype=torch.bool))
        cache = Cache("100MB", disk=folder)
        cache.get_or_load("prompt", lambda: embedding)
        self.assertGreaterEqual(cache.stats()["bytes"], 77 * 768 * 2)
        del cache
        back = Cache("100MB", disk=folder).get("prompt")
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(back, embedding)))


if __name__ == "__main__":
    unittest.main()
