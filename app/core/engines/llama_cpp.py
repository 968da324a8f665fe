"""llama.cpp: GGUF files, micro-batches, layers one card after another, back ends for nearly every card."""

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
    MicroBatchWorkingSet,
    PublishedRows,
    WeightQuirks,
)

FRAMEWORK = Framework(
    name="llama.cpp",
    title="llama.cpp",
    filter_place=5,
    packages=("llama-cpp-python",),
    hardware=Hardware(
        nvidia_from=5.0,
        # Back ends for CUDA, HIP, SYCL, CANN and Vulkan.
        classes=("cdna", "gcn", "rdna", "intel", "ascend", "other"),
        windows=True,
        any_radeon_driver=True,
        radeon_wheels=False,
        runs_on="llama.cpp",
        release_name="llama.cpp",
        release_columns={},
        stated_by_card=True,
        windows_by_release=False,
    ),
)

ENGINE = Engine(
    framework=FRAMEWORK,
    place=3,
    chosen_for=("gguf",),
    trains=False,
    families=("decoder", "encoder", "encoder-decoder"),
    kernels={"plain": 0.0, "gptq": 0.0, "bitsandbytes": 0.0, "gguf": 0.0, "packed": 0.0},
    reserved_share=None,
    narrow_kv="q8_0",
    alternative="",
    compiles=True,
    default_attention="flash",
    packs_sequences=True,
    memory=EngineMemory(
        context_gib=ByAge(new=0.45, usual=0.45, old=0.45),
        working_set=MicroBatchWorkingSet(tokens=512),
        collectives=False,
        own_pool=True,
        states_buffers=True,
        kv=KvLayout(
            page_tokens=256,
            window_slack="micro_batch",
            # Before May 2025, and ik_llama.cpp.
            windows_in_full="old",
            windows_since=(),
            unequal_windows_since=(),
            pads_window_groups=False,
            old_latent_apart=True,
            latent_in_full=False,
            old_factor=1.0,
        ),
        weights=WeightQuirks(
            pads_experts=False,
            table_on_host=True,
            keeps_own_head=False,
            load_buffers=False,
        ),
        spread={"activations": (0.05, 0.1), "engine": (0.05, 0.2)},
        graph=None,
        speech_weights=1.1,
        speech_gib=0.6,
    ),
    speed=EngineSpeed(
        # Since 2025 it replays graphs of launches.
        layer_s=ByAge(
            new=c.LAYER_S["llama.cpp new"], usual=c.LAYER_S["llama.cpp"], old=c.LAYER_S["llama.cpp"]
        ),
        step_s=c.STEP_S["llama.cpp"],
        sequence_s=0.0,
        narrow_layer_share=0.0,
        eager=False,
        ggml=True,
        prefill=1.0,
        # No fused kernel before 2025.
        attention_cost=c.ATTENTION_COST["llama.cpp"],
        serving_share=c.SERVING_SHARE["default"],
        saturated_sequences=c.SATURATED_SEQUENCES["default"],
        speech_layer_s=c.SPEECH_LAYER_S["default"],
        speech_beams=1.0,
        boxes_together=False,
        sorts_proposals_on_host=False,
    ),
    serving=None,
    plans=EnginePlans(
        tensor=False,
        pipeline=True,
        zero=True,
        stages_overlap=False,
        published_split="pipeline",
    ),
    rows=PublishedRows(
        words=("llama.cpp", "lm studio"),
        stands_in_for=(),
        stands_in_for_unknown=(),
        new_since="2025",
    ),
    backend=Backend.TORCH,
    measured_by_script=False,
    setup_text=False,
)
