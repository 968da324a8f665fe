"""vLLM: a paged cache that fills a share of the card, continuous batching, graphs of launches."""

from __future__ import annotations

from app.core.engines import constants as c
from app.core.engines.record import (
    Backend,
    ByAge,
    Engine,
    EngineMemory,
    EnginePlans,
    EngineSpeed,
    Framework,
    Hardware,
    KvLayout,
    PagedWorkingSet,
    PublishedRows,
    Serving,
    WeightQuirks,
)

FRAMEWORK = Framework(
    name="vllm",
    title="vLLM",
    filter_place=2,
    packages=(),
    hardware=Hardware(
        # Installation page, read 2026-11-30.
        nvidia_from=7.0,
        classes=("cdna", "rdna", "intel", "gaudi", "ascend"),
        # "Does not support Windows natively"; WSL is named. docs.vllm.ai, read 2026-11-30.
        windows=False,
        any_radeon_driver=False,
        radeon_wheels=False,
        runs_on="vllm",
        release_name="vllm",
        release_columns={},
        stated_by_card=True,
        windows_by_release=False,
    ),
)

ENGINE = Engine(
    framework=FRAMEWORK,
    place=0,
    chosen_for=("decoder",),
    trains=False,
    families=("decoder", "encoder", "encoder-decoder", "speech", "diffusion"),
    # "Supported Hardware": AWQ, INT8 and the Marlin kernels of GPTQ, AWQ, FP8 and FP4 from Turing (7.5) on;
    # Volta has GPTQ, bitsandbytes and GGUF. docs.vllm.ai/quantization, read 2026-11-30.
    kernels={"plain": 0.0, "gptq": 0.0, "bitsandbytes": 0.0, "gguf": 0.0, "packed": 7.5},
    reserved_share=0.9,
    narrow_kv="fp8",
    alternative="llama.cpp",
    compiles=True,
    default_attention="flash",
    packs_sequences=True,
    memory=EngineMemory(
        context_gib=ByAge(new=0.45, usual=0.55, old=1.1),
        working_set=PagedWorkingSet(graph_factor=1.0),
        collectives=True,
        own_pool=True,
        states_buffers=False,
        kv=KvLayout(
            page_tokens=16,
            window_slack="scheduled",
            windows_in_full="old",
            windows_since=(0, 10),
            # Gemma 4, whose windowed layers differ in their heads.
            unequal_windows_since=(0, 21),
            pads_window_groups=True,
            old_latent_apart=False,
            latent_in_full=False,
            old_factor=1.0,
        ),
        weights=WeightQuirks(
            pads_experts=True,
            table_on_host=False,
            keeps_own_head=False,
            load_buffers=True,
        ),
        spread={"activations": (0.65, 2.0), "engine": (0.5, 1.0)},
        graph=None,
        speech_weights=1.1,
        speech_gib=0.6,
    ),
    speed=EngineSpeed(
        # Old: before graphs of launches (0.2.7, January 2024) every kernel was launched from Python. Llama 2
        # 70B over two and four A100 PCIe: 15 and 18 tokens/s (github.com/sh1ng/llm-perf-bench, 2026-11-30).
        layer_s=ByAge(new=c.LAYER_S["vllm"], usual=c.LAYER_S["vllm"], old=c.LAYER_S["vllm old"]),
        step_s=c.STEP_S["vllm"],
        sequence_s=c.SEQUENCE_S["vllm"],
        narrow_layer_share=c.NARROW_LAYER_SHARE["vllm"],
        eager=False,
        ggml=False,
        prefill=1.0,
        attention_cost=1.0,
        # Out of the box under chat traffic, over tuned runs of fixed lengths: ragged lengths, preemption.
        serving_share=c.SERVING_SHARE["default"],
        saturated_sequences=c.SATURATED_SEQUENCES["default"],
        speech_layer_s=c.SPEECH_LAYER_S["default"],
        speech_beams=1.0,
        boxes_together=False,
        sorts_proposals_on_host=False,
    ),
    serving=Serving(
        share=0.9,
        step_tokens=(8192, 2048),
        sequences=(1024, 256),
        large_from_gib=70.0,
        constants="vllm",
        old_constants="vllm_2024",
        old_before=(0, 7),
        tuned=False,
    ),
    plans=EnginePlans(
        tensor=True,
        pipeline=True,
        zero=True,
        stages_overlap=True,
        published_split="tensor",
    ),
    rows=PublishedRows(
        words=("vllm",),
        stands_in_for=("mlc-llm", "exllamav2"),
        stands_in_for_unknown=(),
        new_since="",
    ),
    backend=Backend.TORCH,
    measured_by_script=False,
    setup_text=False,
)
