"""PyTorch: training of every kind, and forward passes without an engine."""

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
    PublishedRows,
    WeightQuirks,
    WholePromptWorkingSet,
)

FRAMEWORK = Framework(
    name="pytorch",
    title="PyTorch",
    filter_place=0,
    packages=("torch",),
    hardware=Hardware(
        nvidia_from=6.0,
        classes=("cdna", "gcn", "rdna", "intel", "gaudi", "ascend", "other"),
        windows=True,
        any_radeon_driver=False,
        # ROCm 7.1 on Radeon: under Windows PyTorch alone, wheels for RDNA 3 and 4.
        # rocm.docs.amd.com/projects/radeon-ryzen, read 2026-11-30.
        radeon_wheels=True,
        runs_on="pytorch",
        release_name="torch",
        release_columns={},
        stated_by_card=False,
        windows_by_release=False,
    ),
)

ENGINE = Engine(
    framework=FRAMEWORK,
    place=5,
    chosen_for=("training", "encoder", "encoder-decoder", "vision"),
    trains=True,
    families=("decoder", "encoder", "encoder-decoder", "vision", "diffusion", "speech"),
    kernels={"plain": 0.0, "gptq": 0.0, "bitsandbytes": 0.0, "gguf": 0.0, "packed": 0.0},
    reserved_share=None,
    narrow_kv="",
    alternative="",
    compiles=True,
    default_attention="flash",
    packs_sequences=True,
    memory=EngineMemory(
        # V100 with PyTorch 1.x: 1.31 GiB; CUDA 12 loads kernels lazily: 0.4-0.6.
        context_gib=ByAge(new=0.45, usual=0.55, old=1.1),
        working_set=WholePromptWorkingSet(workspace_gib=0.06),
        collectives=False,
        own_pool=False,
        states_buffers=False,
        kv=KvLayout(
            page_tokens=1,
            window_slack="none",
            windows_in_full="never",
            windows_since=(),
            unequal_windows_since=(),
            pads_window_groups=False,
            old_latent_apart=False,
            latent_in_full=False,
            old_factor=1.0,
        ),
        weights=WeightQuirks(
            pads_experts=False,
            table_on_host=False,
            keeps_own_head=False,
            load_buffers=False,
        ),
        spread={"activations": (0.22, 0.3), "engine": (0.5, 1.3)},
        graph=None,
        # openai/whisper loads fp32 and casts: 11.1 GiB for 1.55 B.
        speech_weights=3.3,
        speech_gib=1.0,
    ),
    speed=EngineSpeed(
        layer_s=ByAge(new=c.LAYER_S["eager"], usual=c.LAYER_S["eager"], old=c.LAYER_S["eager"]),
        step_s=c.STEP_S["default"],
        sequence_s=0.0,
        narrow_layer_share=0.0,
        eager=True,
        ggml=False,
        prefill=c.PREFILL_FACTOR["eager"],
        attention_cost=1.0,
        serving_share=c.SERVING_SHARE["default"],
        saturated_sequences=c.SATURATED_SEQUENCES["default"],
        speech_layer_s=c.SPEECH_LAYER_S["default"],
        speech_beams=1.0,
        boxes_together=False,
        sorts_proposals_on_host=False,
    ),
    serving=None,
    plans=EnginePlans(
        tensor=True,
        pipeline=True,
        zero=True,
        stages_overlap=True,
        published_split="tensor",
    ),
    rows=PublishedRows(
        words=("torch", "deepspeed", "megatron", "nemo", "foundry", "flagscale"),
        stands_in_for=(),
        stands_in_for_unknown=("other",),
        new_since="",
    ),
    backend=Backend.TORCH,
    measured_by_script=True,
    setup_text=False,
)
