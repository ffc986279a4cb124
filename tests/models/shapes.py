"""Net: the names and shapes of a network's tensors, gathered layer by layer."""


class Net:
    def __init__(self):
        self.tensors = {}

    def add(self, name, *shape):
        assert name not in self.tensors, name
        self.tensors[name] = list(shape)

    def linear(self, name, out, inp, bias=True):
        self.add(name + ".weight", out, inp)
        if bias:
            self.add(name + ".bias", out)

    def conv(self, name, out, inp, *kernel, bias=True):
        self.add(name + ".weight", out, inp, *kernel)
        if bias:
            self.add(name + ".bias", out)

    def norm(self, name, width, bias=True):
        self.add(name + ".weight", width)
        if bias:
            self.add(name + ".bias", width)

    def scales(self, width, *names):
        """RMS norms: a weight, no bias."""
        for name in names:
            self.norm(name, width, bias=False)

    def mlp2(self, name, inp, width, bias=True, first="linear_1", second="linear_2"):
        """Two linear layers into `width`, as of timesteps and captions."""
        self.linear(f"{name}.{first}", width, inp, bias)
        self.linear(f"{name}.{second}", width, width, bias)

    def attention(self, name, width, bias=True, head=0, text=0, kv=0, out_bias=None, text_out=True):
        """Diffusers' attention; `head`: RMS norms of that size; `text`: joint, text of that width."""
        kv = kv or width
        out_bias = bias if out_bias is None else out_bias
        self.linear(f"{name}.to_q", width, width, bias)
        self.linear(f"{name}.to_k", kv, width, bias)
        self.linear(f"{name}.to_v", kv, width, bias)
        self.linear(f"{name}.to_out.0", width, width, out_bias)
        if head:
            self.scales(head, f"{name}.norm_q", f"{name}.norm_k")
        if text:
            for part in ("add_q_proj", "add_k_proj", "add_v_proj"):
                self.linear(f"{name}.{part}", width, text, bias)
            if text_out:
                self.linear(f"{name}.to_add_out", text, width, out_bias)
            if head:
                self.scales(head, f"{name}.norm_added_q", f"{name}.norm_added_k")

    def ff(self, name, width, inner, bias=True, gated=False):
        self.linear(f"{name}.net.0.proj", inner * (2 if gated else 1), width, bias)
        self.linear(f"{name}.net.2", width, inner, bias)
