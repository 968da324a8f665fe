"""Text of the script that measures with PyTorch."""

BACKEND = """
import torch
import torch.nn.functional as F
from torch import nn

ON_CARD = torch.cuda.is_available()
DEVICE = torch.device("cuda" if ON_CARD else "cpu")
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
BUDGET = 10.0


def wait():
    if ON_CARD:
        torch.cuda.synchronize()


def use_tf32(on):
    torch.backends.cuda.matmul.allow_tf32 = on
    torch.backends.cudnn.allow_tf32 = on


def device(quick):
    found = {"kind": DEVICE.type, "framework": "PyTorch", "framework_version": torch.__version__}
    if ON_CARD:
        facts = torch.cuda.get_device_properties(0)
        free, total = torch.cuda.mem_get_info()
        found.update(
            name=facts.name, memory_gib=total / GIB, free_gib=free / GIB, count=torch.cuda.device_count(),
            multiprocessors=facts.multi_processor_count, capability="%d.%d" % (facts.major, facts.minor),
            runtime=torch.version.cuda or torch.version.hip or "",
        )
    return found


def memory(quick):
    # A number of its own in every place of the free memory, then all read back: memory that only the
    # firmware claims keeps the numbers of another place.
    part = (64 if quick else 256) * 1024**2
    free = torch.cuda.mem_get_info()[0] if ON_CARD and not quick else 4 * part
    count, length = max(1, int(0.9 * free) // part), part // 8
    kept = []
    try:
        for n in range(count):
            kept.append(torch.arange(n * length, (n + 1) * length, dtype=torch.int64, device=DEVICE))
    except torch.cuda.OutOfMemoryError:
        pass
    intact = 0
    for n, block in enumerate(kept):
        expected = torch.arange(n * length, (n + 1) * length, dtype=torch.int64, device=DEVICE)
        intact += bool(torch.equal(block, expected))
    kept.clear()
    if ON_CARD:
        torch.cuda.empty_cache()
    return {"tried_gib": count * part / GIB, "intact_gib": intact * part / GIB}


def bandwidth(quick):
    size = (64 if quick else 4096 if ON_CARD else 512) * 1024**2
    budget = 0.5 if quick else BUDGET
    while True:
        try:
            source = torch.ones(size // 4, dtype=torch.float32, device=DEVICE)
            target = torch.empty_like(source)
            break
        except torch.cuda.OutOfMemoryError:
            size //= 2
    inside = seconds_per_call(lambda: target.copy_(source), wait, budget)
    found = {"copy_gb_s": 2.0 * size / inside / 1e9, "bytes": size}
    if ON_CARD:
        host = torch.empty(min(size, 256 * 1024**2) // 4, dtype=torch.float32).pin_memory()
        part = target[: host.numel()]
        moved = host.numel() * 4.0
        there = seconds_per_call(lambda: part.copy_(host), wait, budget / 2)
        back = seconds_per_call(lambda: host.copy_(part), wait, budget / 2)
        found.update(host_to_card_gb_s=moved / there / 1e9, card_to_host_gb_s=moved / back / 1e9)
    return found


def rates(quick):
    size = 512 if quick else 8192 if ON_CARD else 2048
    found = {}
    for name in ("fp32", "tf32", "fp16", "bf16"):
        if name == "tf32" and not ON_CARD:
            continue
        try:
            use_tf32(name == "tf32")
            a = torch.randn(size, size, device=DEVICE, dtype=torch.float32).to(TYPES[name])
            b = torch.randn(size, size, device=DEVICE, dtype=torch.float32).to(TYPES[name])
            out = torch.empty(size, size, device=DEVICE, dtype=TYPES[name])
            one = seconds_per_call(lambda: torch.matmul(a, b, out=out), wait, 0.3 if quick else BUDGET)
            found[name] = 2.0 * size**3 / one / 1e12
        except RuntimeError:
            # The card or the build has no such type: the rate is unknown, not zero.
            continue
    use_tf32(False)
    return found


def under_load(quick):
    # Clocks, heat and power while the card multiplies: calls return before the card has finished.
    if not ON_CARD:
        return {}
    a = torch.randn(8192, 8192, device=DEVICE).to(torch.float16)
    out = torch.empty_like(a)
    once = seconds_per_call(lambda: torch.matmul(a, a, out=out), wait, 0.5)
    for _ in range(min(900, int(4.0 / once))):
        torch.matmul(a, a, out=out)
    found = nvidia_smi(SMI_UNDER_LOAD)
    wait()
    return found


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads, head, causal):
        super().__init__()
        self.heads, self.kv_heads, self.head, self.causal = heads, kv_heads, head, causal
        self.q = nn.Linear(width, heads * head, bias=False)
        self.kv = nn.Linear(width, 2 * kv_heads * head, bias=False)
        self.out = nn.Linear(heads * head, width, bias=False)

    def forward(self, x, cache=None, at=0):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, self.heads, self.head).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2, self.kv_heads, self.head).permute(2, 0, 3, 1, 4)
        if cache is not None:
            cache[0][:, :, at : at + length] = k
            cache[1][:, :, at : at + length] = v
            k, v = cache[0][:, :, : at + length], cache[1][:, :, : at + length]
        if self.kv_heads != self.heads:
            k = k.repeat_interleave(self.heads // self.kv_heads, dim=1)
            v = v.repeat_interleave(self.heads // self.kv_heads, dim=1)
        found = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and length > 1)
        return self.out(found.transpose(1, 2).reshape(batch, length, -1))


class Block(nn.Module):
    def __init__(self, m, causal):
        super().__init__()
        width, inner = m["hidden_size"], m["intermediate_size"]
        self.gated = m["gated_mlp"]
        self.attention = Attention(width, m["attention_heads"], m["kv_heads"], m["head_dim"], causal)
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up = nn.Linear(width, inner * (2 if self.gated else 1), bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, cache=None, at=0):
        x = x + self.attention(self.one(x), cache, at)
        h = self.up(self.two(x))
        if self.gated:
            gate, h = h.chunk(2, dim=-1)
            return x + self.down(F.silu(gate) * h)
        return x + self.down(F.gelu(h))


class Transformer(nn.Module):
    def __init__(self, m, causal):
        super().__init__()
        self.embed = nn.Embedding(m["vocab_size"], m["hidden_size"])
        self.blocks = nn.ModuleList(Block(m, causal) for _ in range(m["layers"]))
        self.norm = nn.LayerNorm(m["hidden_size"])
        self.head = nn.Linear(m["hidden_size"], m["vocab_size"] if causal else 2, bias=False)

    def forward(self, tokens, caches=None, at=0, last=False):
        x = self.embed(tokens)
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i], at)
        return self.head(self.norm(x[:, -1:] if last else x))


class Bottleneck(nn.Module):
    def __init__(self, width, inner, out, stride, basic):
        super().__init__()
        shape = [(3, stride), (3, 1)] if basic else [(1, 1), (3, stride), (1, 1)]
        sizes = [width, inner, out] if basic else [width, inner, inner, out]
        layers = []
        for i, (kernel, step) in enumerate(shape):
            layers += [
                nn.Conv2d(sizes[i], sizes[i + 1], kernel, step, kernel // 2, bias=False),
                nn.BatchNorm2d(sizes[i + 1]),
            ]
            if i + 1 < len(shape):
                layers.append(nn.ReLU(inplace=True))
        self.body = nn.Sequential(*layers)
        same = stride == 1 and width == out
        self.skip = nn.Identity() if same else nn.Sequential(
            nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out)
        )

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


RESNETS = {
    18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3),
}


def resnet(depth):
    basic = depth < 50
    layers = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    width = 64
    for stage, blocks in enumerate(RESNETS[depth]):
        inner = 64 * 2**stage
        out = inner if basic else 4 * inner
        for i in range(blocks):
            layers.append(Bottleneck(width, inner, out, 2 if stage and not i else 1, basic))
            width = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


def image_model(question):
    if question["resnet_depth"] in RESNETS:
        return resnet(question["resnet_depth"])
    # Other image models only where a library that has them is installed already.
    try:
        import torchvision.models as library

        return library.get_model(question["library_name"], weights=None)
    except (ImportError, ValueError):
        import timm

        return timm.create_model(question["library_name"], pretrained=False)


def smaller(question):
    question = json.loads(json.dumps(question))
    question["batch_size"] = min(2, question["batch_size"])
    question["sequence_length"] = min(64, question["sequence_length"] or 64)
    question["output_length"] = min(16, question["output_length"] or 16)
    question["image_size"] = 64
    if question.get("dimensions"):
        question["dimensions"].update(
            layers=2, hidden_size=128, intermediate_size=256, attention_heads=4, kv_heads=2, head_dim=32,
            vocab_size=1000,
        )
    if question.get("resnet_depth"):
        question["resnet_depth"] = 18
    return question


def workload(quick):
    question = smaller(QUESTION["workload"]) if quick else QUESTION["workload"]
    if question.get("skip"):
        return {"skipped": question["skip"]}
    kind = TYPES[question["compute_type"]]
    use_tf32(question["compute_type"] == "tf32")
    budget = 1.0 if quick else 60.0
    if ON_CARD:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    images = question["family"] == "vision"
    trains = question["task"] == "training"
    causal = question["family"] == "decoder"
    model = image_model(question) if images else Transformer(question["dimensions"], causal)
    model = model.to(DEVICE)
    if images:
        model = model.to(memory_format=torch.channels_last) if question["software"] == "new" else model
    batch, length = question["batch_size"], question["sequence_length"]
    half = kind in (torch.float16, torch.bfloat16)
    if images:
        size = question["image_size"]
        data = torch.randn(batch, 3, size, size, device=DEVICE)
    else:
        data = torch.randint(0, question["dimensions"]["vocab_size"], (batch, length), device=DEVICE)
    if trains:
        found = train(model, data, question, kind, half, budget)
    else:
        model = model.to(kind).eval()
        data = data.to(kind) if images else data
        with torch.inference_mode():
            found = infer(model, data, question, kind, budget)
    if ON_CARD:
        found["peak_allocated_gib"] = torch.cuda.max_memory_allocated() / GIB
        found["peak_reserved_gib"] = torch.cuda.max_memory_reserved() / GIB
    found["parameters"] = sum(p.numel() for p in model.parameters())
    found.update(batch_size=batch, precision=question["compute_type"], task=question["task"])
    return found


def train(model, data, question, kind, half, budget):
    if question["family"] == "vision":
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()
    causal = question["family"] == "decoder"

    def step():
        with torch.autocast(DEVICE.type, dtype=kind if half else torch.bfloat16, enabled=half):
            out = model(data)
            if causal:
                loss = F.cross_entropy(out.flatten(0, 1).float(), data.flatten())
            else:
                loss = out.float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    one = seconds_per_call(step, wait, budget)
    units = data.shape[0] * (data.shape[1] if causal else 1)
    return {"step_s": one, "value": units / one, "unit": question["unit"], "phase": ""}


def infer(model, data, question, kind, budget):
    if question["family"] != "decoder":
        one = seconds_per_call(lambda: model(data), wait, budget)
        return {"step_s": one, "value": data.shape[0] / one, "unit": question["unit"], "phase": ""}
    m, batch = question["dimensions"], data.shape[0]
    output = max(2, question["output_length"])
    prompt = max(1, data.shape[1] - output)
    caches = [
        [
            torch.zeros(batch, m["kv_heads"], data.shape[1], m["head_dim"], device=DEVICE, dtype=kind)
            for _ in "kv"
        ]
        for _ in range(m["layers"])
    ]
    read = seconds_per_call(lambda: model(data[:, :prompt], caches, 0, True), wait, budget / 2)
    position = [prompt]

    def write():
        model(data[:, :1], caches, position[0], True)
        position[0] = prompt + (position[0] + 1 - prompt) % output

    one = seconds_per_call(write, wait, budget / 2)
    return {
        "step_s": one, "value": batch / one, "unit": question["unit"], "phase": "decode",
        "prefill_tokens_per_s": batch * prompt / read, "input_length": prompt, "output_length": output,
    }
"""
