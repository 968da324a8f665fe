"""TensorRT-LLM: a paged cache, tuned kernels, NVIDIA alone."""

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
    name="tensorrt-llm",
    title="TensorRT-LLM",
    filter_place=4,
    packages=(),
    hardware=Hardware(
        # Installation page, read 2026-11-30.
        nvidia_from=8.0,
        classes=(),
        # A beta for one card under Windows ended with 0.17. nvidia.github.io/TensorRT-LLM, read 2026-11-30.
        windows=False,
        any_radeon_driver=False,
        radeon_wheels=False,
        runs_on="tensorrt-llm",
        release_name="tensorrt-llm",
        release_columns={},
        stated_by_card=True,
        windows_by_release=False,
    ),
)

ENGINE = Engine(
    framework=FRAMEWORK,
    place=2,
    chosen_for=(),
    trains=False,
    families=("decoder", "encoder", "encoder-decoder", "speech"),
    kernels={"plain": 0.0, "gptq": 0.0, "bitsandbytes": 0.0, "gguf": 0.0, "packed": 0.0},
    reserved_share=None,
    narrow_kv="fp8",
    alternative="",
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
            # In its default.
            windows_in_full="always",
            windows_since=(),
            unequal_windows_since=(),
            pads_window_groups=False,
            old_latent_apart=False,
            latent_in_full=False,
            old_factor=1.0,
        ),
        weights=WeightQuirks(
            pads_experts=True,
            table_on_host=False,
            keeps_own_head=False,
            load_buffers=False,
        ),
        spread={"activations": (0.65, 2.0), "engine": (0.5, 1.0)},
        graph=None,
        speech_weights=1.1,
        speech_gib=0.6,
    ),
    speed=EngineSpeed(
        layer_s=ByAge(
            new=c.LAYER_S["tensorrt-llm"], usual=c.LAYER_S["tensorrt-llm"], old=c.LAYER_S["tensorrt-llm"]
        ),
        step_s=c.STEP_S["tensorrt-llm"],
        sequence_s=c.SEQUENCE_S["tensorrt-llm"],
        narrow_layer_share=0.0,
        eager=False,
        ggml=False,
        prefill=1.0,
        attention_cost=1.0,
        # Tuned runs of fixed lengths.
        serving_share=c.SERVING_SHARE["tensorrt-llm"],
        saturated_sequences=c.SATURATED_SEQUENCES["tensorrt-llm"],
        speech_layer_s=c.SPEECH_LAYER_S["default"],
        speech_beams=1.0,
        boxes_together=False,
        sorts_proposals_on_host=False,
    ),
    serving=Serving(
        share=0.9,
        step_tokens=(8192, 8192),
        sequences=(2048, 2048),
        large_from_gib=70.0,
        constants="tensorrt-llm",
        old_constants="tensorrt-llm",
        old_before=(),
        tuned=True,
    ),
    plans=EnginePlans(
        tensor=True,
        pipeline=True,
        zero=True,
        stages_overlap=True,
        published_split="tensor",
    ),
    rows=PublishedRows(
        words=("tensorrt-llm",),
        stands_in_for=(),
        stands_in_for_unknown=("language",),
        new_since="",
    ),
    backend=Backend.TORCH,
    measured_by_script=False,
    setup_text=False,
)
