"""Formulas of the memory model as /method prints them."""

from __future__ import annotations

from app.core.formulas import Formula, Reference, register

_KORTHIKANTI = Reference(
    "Korthikanti et al., Reducing Activation Recomputation, table 2", "https://arxiv.org/abs/2205.05198"
)
_COOKBOOK = Reference(
    "EleutherAI cookbook, calc_transformer_mem.py @827ee3b", "https://github.com/EleutherAI/cookbook"
)
_VRAMCALC = Reference("vramcalc 0.1.2, memory.py and 19 measured runs")
_INFERENCE = Reference("212 measured inference cases: start logs, benchmark tables, issue reports")
_TRAINING = Reference("438 measured training cases of PyTorch and TensorFlow")
_TIMM = Reference(
    "pytorch-image-models results, largest training batch on an RTX 3090",
    "https://github.com/huggingface/pytorch-image-models/tree/main/results",
)
_ZOOS = Reference(
    "MMDetection, Detectron2, MMSegmentation model zoos: peak memory per configuration",
    "https://github.com/open-mmlab/mmdetection",
)
_VLLM = Reference("vLLM start logs: weights, activation peak, non-torch, CUDA graphs")
_LLAMA = Reference("llama.cpp and ik_llama.cpp load logs", "https://github.com/ikawrakow/ik_llama.cpp")

register(
    Formula(
        "memory.weights",
        "Weights",
        "sum over tensors of parameters x bits / 8, sharded by t (experts by max(t, e)), "
        "by p, and by N with ZeRO-3; a GGUF mixture of experts keeps 6.3 bits outside its routed experts",
        "GiB",
        "exact",
        "Quantized formats cover linears at their bits with scales; embeddings, head and "
        "vision tower stay at 16 bit. "
        "Mixed checkpoints under one label need their known size.",
        (_INFERENCE,),
    ),
    Formula(
        "memory.kv_cache",
        "KV cache",
        "sequences x (sum over layers of 2 d max(1, ceil(k/t)) x min(s, window) x bytes + recurrent state); "
        "latent attention: (c + r) per layer, not sharded",
        "GiB",
        "exact",
        "Architectural minimum; what the engine lays out stands beside it.",
        (_INFERENCE,),
    ),
    Formula(
        "memory.prefill_activations",
        "Prefill activations",
        "vLLM: scheduled tokens x (8 h + 6 i/t); Transformers: b x prompt x 6 (h + i) at 16 bit",
        "GiB",
        "calibrated",
        "Text models; multimodal profiling can take tens of GiB. Transformers without chunked prefill.",
        (_VLLM, _INFERENCE),
    ),
    Formula(
        "memory.sampled_logits",
        "Sampled logits",
        "vLLM: sequences x V x 4 B x 3; Transformers: b x V x 8 B, old releases b x prompt x V x 6 B",
        "GiB",
        "calibrated",
        "Generation keeps the last position only.",
        (_VLLM,),
    ),
    Formula(
        "memory.engine_vllm",
        "Engine: vLLM, SGLang, TensorRT-LLM",
        "CUDA graphs 0.2 GiB + 12 MiB x L/p, non-torch 0.12 GiB, KV layout beyond the minimum",
        "GiB",
        "calibrated",
        "Graphs measured between 0.04 and 1.6 GiB, far more with wide expert parallelism.",
        (_VLLM,),
    ),
    Formula(
        "memory.engine_llama_cpp",
        "Engine: llama.cpp compute buffer",
        "ubatch x (4 V + 4 h, 8 h for a mixture of experts) + 96 KiB per context token with latent attention",
        "GiB",
        "exact",
        "Flash attention on and grouped queries; exact to 0.0 MiB in five logs. Off: + 4 ubatch a s.",
        (_LLAMA,),
    ),
    Formula(
        "memory.engine_transformers",
        "Engine: Transformers",
        "0.06 GiB workspace + cache layout beyond the minimum",
        "GiB",
        "calibrated",
        "Releases before 2024 concatenate the cache: 2.1 x.",
        (_INFERENCE,),
    ),
    Formula(
        "memory.context",
        "CUDA context",
        "0.45 / 0.55 / 1.1 GiB by age of the software, TensorFlow 1.0, CTranslate2 and llama.cpp 0.45",
        "GiB",
        "assumed",
        "Outside the allocator; 0.3-1.3 GiB in reports.",
        (Reference("Hugging Face: model memory anatomy; 1,343 MiB on a V100 with PyTorch 1.x"),),
    ),
    Formula(
        "memory.collectives",
        "Communication buffers",
        "NCCL 0.38 GiB (+ 0.1 from 8 cards); DDP: + gradient buckets; ZeRO 1-2: + two "
        "buckets of 5e8 elements",
        "GiB",
        "calibrated",
        "One node.",
        (_COOKBOOK, Reference("aiconfigurator system files: NCCL 342 MB at 2, 392 MB at 4-8 GPUs")),
    ),
    Formula(
        "memory.gradients",
        "Gradients",
        "trained parameters x 2 B (pure) or 4 B, / N from ZeRO-2",
        "GiB",
        "exact",
        "LoRA: adapters only.",
        (_COOKBOOK,),
    ),
    Formula(
        "memory.optimizer",
        "Optimizer state",
        "parameters x moments x 4 B (pure: 2 B), + 4 B master weights with ZeRO-1/2 mixed; 8-bit Adam 2.1 B, "
        "Adafactor 0.05 B, GaLore 0.35 B; / N from ZeRO-1; plus the step's buffer where "
        "it exceeds the activations",
        "GiB",
        "exact",
        "TensorFlow: 26-30 B per parameter in all.",
        (_COOKBOOK, _TRAINING),
    ),
    Formula(
        "memory.optimizer_step",
        "Optimizer step",
        "max(0, trained parameters x 4 B - activations - logits)",
        "GiB",
        "derived",
        "foreach implementation; fused optimizers need a tenth.",
        (_VRAMCALC,),
    ),
    Formula(
        "memory.training_activations",
        "Activations of transformers",
        "gated: tokens x L x 0.92 (2 (4 h + 2 a d + 2 k d + 4 i) + 8 h) / t; else 34 h (16 "
        "bit) or 66 h; eager + (2 w + 1) a s; adapters on the MLP + 3 B per element of its inputs; "
        "checkpointing: 2 h x L + what one recomputed layer needs beyond the logits; selective x 0.48",
        "GiB",
        "calibrated",
        "Encoders x 1.22-1.25 (scores x 1.3 fp32, x 2.4 under autocast); TensorFlow x "
        "1.35-2.2; torch.compile x 0.70.",
        (_KORTHIKANTI, _VRAMCALC, _TRAINING),
    ),
    Formula(
        "memory.training_logits",
        "Logits and loss",
        "tokens x V x 13 B (compiled 8.3, chunked 1, fp32 16, releases of 2023 10, fused 6) / t",
        "GiB",
        "calibrated",
        "Language-model loss over all positions.",
        (_VRAMCALC, _TRAINING),
    ),
    Formula(
        "memory.fragmentation",
        "Allocator reserve",
        "share of activations and logits: full 8 %, adapters 12 %, encoders 2 %, plus 0.05-0.4 GiB "
        "(FSDP adapters 1 GiB); PyTorch of 2023: V x (11 tokens + 24 min(tokens, 2048)) B",
        "GiB",
        "calibrated",
        "Variable lengths make it larger: reserved is up to 25 % above allocated.",
        (_TRAINING,),
    ),
    Formula(
        "memory.adapter",
        "Adapters with gradients and optimizer",
        "r x L x (4 h + 2 a d + 2 k d [+ 3 (h + i)]) x 16 B (pure: 8 B)",
        "GiB",
        "derived",
        "Routed experts carry no adapters.",
        (_VRAMCALC,),
    ),
    Formula(
        "memory.vision_activations",
        "Activations of image models",
        "images x elements per image x (size / reference)^2 x bytes per element of the "
        "block family, attention scores 6.4; detectors and "
        "segmenters: GiB per megapixel, head + backbone",
        "GiB",
        "calibrated",
        "AMP 3.5 (VGG) to 11.8 (GroupNorm) bytes; fp32 twice that.",
        (_TIMM, _ZOOS),
    ),
    Formula(
        "memory.vision_workspace",
        "Convolution workspace",
        "0.35 GiB, image generation 0.3 GiB (training + 12 % of the activations)",
        "GiB",
        "assumed",
        "cuDNN benchmark mode may take more.",
        (_TIMM,),
    ),
    Formula(
        "memory.diffusion_activations",
        "Working set of image generation",
        "(1.4 + 0.25 P / 1e9) GiB (transformer) or 2.6 GiB (U-Net) x pixels / 1024^2 x (1 + 0.12 (b - 1)); "
        "training by the parameters that gradients pass, the latents and eager scores",
        "GiB",
        "calibrated",
        "VAE decoding decides; all components resident.",
        (_INFERENCE,),
    ),
    Formula(
        "memory.speech_engine",
        "Engine of speech recognition",
        "faster-whisper 0.12 GiB + 12 MiB x decoder layers; Transformers 0.1 W + 0.6 GiB; openai/whisper "
        "2.3 W + 1 GiB (W: 16-bit weights)",
        "GiB",
        "calibrated",
        "Beam 5, 30-second windows.",
        (Reference("faster-whisper README", "https://github.com/SYSTRAN/faster-whisper"),),
    ),
    Formula(
        "memory.verdict",
        "Verdict",
        "fits: high <= usable - used; tight: expected <= usable - used < high; else does not fit",
        "",
        "exact",
        "Per card after sharding, never pooled.",
    ),
)
