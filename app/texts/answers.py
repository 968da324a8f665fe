"""English source texts of what an answer says: defaults, reasons, notices, advice, by code."""

from __future__ import annotations

from app.texts.marking import N_

ANSWERS: dict[str, str] = {
    # Why a default was taken
    "default_task": N_("Not stated; inference is taken."),
    "default_batch_size": N_("Not stated; one at a time is taken."),
    "default_precision": N_("Not stated; BF16 is the usual type."),
    "native_precision": N_("Not stated; the model is published in this type."),
    "checkpoint_kv_precision": N_("Not stated; the checkpoint brings scales for a cache of this type."),
    "qlora_needs_quantized_weights": N_(
        "QLoRA keeps the base weights at 4 bits; NF4 is what it was published with."
    ),
    "usual_batch_size": N_("Not stated; what is usual for this task and kind of model."),
    "usual_sequence_length": N_("Not stated; the usual length of this task, at most the model's own."),
    "usual_precision": N_("Not stated; the checkpoint's own format, else what this task is usually run in."),
    "usual_gradient_checkpointing": N_(
        "Not stated; recomputed where activations are large, kept where they are small."
    ),
    "usual_work_month": N_(
        "Not stated; a usual month. It sets the order and the energy and rejects nothing."
    ),
    "usual_work_all": N_(
        "Not stated; a usual run in all. It sets the order and the energy and rejects nothing."
    ),
    "usual_samples_per_epoch": N_("Not stated; a training set of usual size."),
    "default_engine": N_("Not stated; the usual engine for this family and format."),
    "default_optimizer": N_("Not stated; the usual optimizer for this family."),
    "default_recipe": N_("Not stated; the usual recipe for this type."),
    "default_attention": N_("Not stated; what the framework uses by itself."),
    "default_sequence_length": N_("Not stated; 2,048 tokens are taken."),
    "default_output_length": N_("Not stated; a quarter of the sequence, at most 512 tokens."),
    "default_source_length": N_("Not stated; as long as the output."),
    "default_image_size": N_("Not stated; the size the model is published with."),
    "default_memory_fraction": N_("Not stated; the share of the card that the engine takes by itself."),
    "default_max_num_seqs": N_("Not stated; what the engine samples when it measures its memory."),
    "default_max_batched_tokens": N_("Not stated; between the engine's values for small and large cards."),
    "default_kv_precision": N_("Not stated; the cache is kept in the compute type."),
    "dimensions_from_family_pattern": N_(
        "Only the size is known: dimensions follow the family's pattern, and the interval is wider."
    ),
    "default_lora_rank": N_("Not stated; rank 16 is usual."),
    "default_lora_targets": N_("Not stated; adapters on all linear layers."),
    "default_gradient_checkpointing": N_("Not stated; activations are kept, not recomputed."),
    "default_logits": N_("Not stated; logits of the whole batch are held at once."),
    "default_padding": N_("Not stated; sequences are padded to the stated length."),
    "default_load": N_("Not stated; the stated batch runs together."),
    "default_software": N_("Not stated; usual software of its time."),
    "default_denoising_steps": N_("Not stated; the usual number of denoising steps of such a model."),
    "default_tokens_per_window": N_("Not stated; the usual number of tokens written per window of audio."),
    "counts_at_asked_size": N_("The counts of the model name no image size; they are taken at this one."),
    "engine_of_framework": N_("Not stated; the framework that must run is the engine."),
    "default_count": N_("Not stated; one card is taken."),
    "default_counts": N_("Not stated; 1, 2, 4 and 8 cards are tried."),
    "default_objective": N_("Not stated; lowest total cost is sought."),
    "default_limit": N_("Not stated; ten options are listed."),
    "default_conditions": N_("Not stated; modified cards are listed only when asked for."),
    "default_max_age_days": N_("Not stated; older prices are marked stale."),
    "default_refuse_stale": N_("Not stated; stale prices count and are marked."),
    "default_availability": N_(
        "Not stated; cards under an export rule, or not on sale, count only where a price of today shows "
        "that they are sold."
    ),
    "default_evidence": N_(
        "Not stated; only what a quote or a shop offers today is ranked, estimates are listed beside."
    ),
    "region_of_filter": N_("Prices of the region in which the card must be allowed."),
    "default_region": N_("Not stated; prices of mainland China come first."),
    "default_months": N_("Not stated; a usual depreciation period."),
    "default_hours_per_month": N_("Not stated; a whole month."),
    "default_electricity_cny_per_kwh": N_("Not stated; a usual commercial tariff in yuan per kWh."),
    "default_pue": N_("Not stated; a usual machine room."),
    "default_utilisation": N_("Not stated; the cards work this share of the time."),
    "default_residual": N_("Not stated; share of the purchase price left at the end."),
    "default_host": N_(
        "Not stated; one or two PCIe cards go into a machine that is there, for more it is bought with them."
    ),
    "default_host_cny_per_gpu": N_(
        "Not stated; the price of the cheapest kind of machine that holds the cards."
    ),
    # Cards, frameworks, prices
    "driver_too_old": N_("{framework} {version} needs driver {needed} or newer, not {driver}."),
    "framework_jit_only": N_(
        "{framework} {version} has no compiled code for {gpu}: it is compiled at start, and "
        "failures are reported."
    ),
    "framework_capability_unknown": N_(
        "The compute capability of {gpu} is not known: check whether {framework} runs on it."
    ),
    "framework_lacks_capability": N_(
        "{framework} {version} has no code for compute capability {capability} ({gpu})."
    ),
    "framework_no_windows_gpu": N_("{framework} {version} does not use the GPU on native Windows; use WSL2."),
    "framework_not_on_vendor": N_("{framework} {version} has no build for {gpu}."),
    "framework_support_unknown": N_("Whether {framework} {version} supports {gpu} is not known."),
    "framework_unknown": N_("Nothing is known of {framework}."),
    "framework_vendor_build": N_("{gpu} needs the vendor's own build of {framework}."),
    "framework_version_unknown": N_("Nothing is known of {framework} {version}; known are {known}."),
    "ecc_optional": N_("ECC on {gpu} is optional: it has to be switched on, and takes memory and bandwidth."),
    "rejected_feature": N_("{gpu} has no {feature}."),
    "rejected_feature_unknown": N_("Whether {gpu} has {feature} is not known."),
    "rejected_support": N_("{framework} does not run {precision} on {gpu}: {version} ({source})"),
    "support_experimental": N_(
        "{framework} with {precision} on {gpu} is experimental: its maker's table leaves it out, or says so."
    ),
    "support_not_known": N_("Whether {framework} runs {precision} on {gpu} is stated nowhere: try it first."),
    "framework_on_card_unknown": N_("Whether {framework} runs on {gpu} is stated nowhere."),
    "rejected_vendor": N_("Cards of {vendor} are not asked for."),
    "rejected_rate_unknown": N_("No trusted compute rate or bandwidth of {gpu} is known."),
    "rejected_precision": N_("{gpu} has no {precision}."),
    "price_held": N_("Held for confirmation."),
    "price_undated": N_("Without a date: cannot rank."),
    "price_superseded": N_("Replaced by a correction."),
    "price_no_rate": N_("No exchange rate for its day is known."),
    "price_likely_server_price": N_("Most likely the price of a whole 8-card server."),
    "price_far_from_history": N_("Too far from the card's own price history."),
    # Why an option stands where it does
    "first_by_total_cost": N_(
        "Lowest total cost of all that pass, {total_cny}; {next} costs {lead_percent} more."
    ),
    "first_by_purchase": N_(
        "Lowest purchase of all that pass, {purchase_cny}; {next} costs {lead_percent} more."
    ),
    "first_by_tflops_per_yuan": N_(
        "Most sustained TFLOPS per 1000 yuan of all that pass, {tflops_per_1000_cny}; next is {next}."
    ),
    "first_by_speed": N_("Fastest of all that pass, {speed}\u00a0{speed_unit}; next is {next}."),
    "first_by_power": N_("Lowest power of all that pass, {power_w}; next is {next}."),
    "only_one_by_total_cost": N_("The only option that passes; it costs {total_cny} in all."),
    "only_one_by_purchase": N_("The only option that passes; it costs {purchase_cny} to buy."),
    "only_one_by_tflops_per_yuan": N_(
        "The only option that passes, at {tflops_per_1000_cny} sustained TFLOPS per 1000 yuan."
    ),
    "only_one_by_speed": N_("The only option that passes, at {speed}\u00a0{speed_unit}."),
    "only_one_by_power": N_("The only option that passes; it draws {power_w}."),
    "behind_first_by_total_cost": N_("Costs {behind_percent} more in all than {first}."),
    "behind_first_by_purchase": N_("Costs {behind_percent} more to buy than {first}."),
    "behind_first_by_tflops_per_yuan": N_(
        "{behind_percent} fewer sustained TFLOPS per 1000 yuan than {first}."
    ),
    "behind_first_by_speed": N_("{behind_percent} slower than {first}."),
    "behind_first_by_power": N_("Draws {behind_percent} more power than {first}."),
    # Equal values: what the order rests on.
    "first_of_equals_by_speed": N_(
        "Level with {next}; ahead because it is faster ({own_speed} against {other_speed}\u00a0{speed_unit})."
    ),
    "behind_equal_by_speed": N_(
        "Level with {first}; behind because it is slower ({own_speed} against "
        "{other_speed}\u00a0{speed_unit})."
    ),
    "first_of_equals_by_cost": N_(
        "Level with {next}; ahead because it costs less in all ({own_total_cny} against {other_total_cny})."
    ),
    "behind_equal_by_cost": N_(
        "Level with {first}; behind because it costs more in all ({own_total_cny} against {other_total_cny})."
    ),
    "first_of_equals_by_margin": N_(
        "Level with {next}; ahead because it leaves more memory free ({own_margin_gib} against "
        "{other_margin_gib})."
    ),
    "first_of_equals_by_power": N_(
        "Level with {next}; ahead because it draws less power ({own_power_w} against {other_power_w})."
    ),
    "first_of_equals_by_name": N_("Level with {next} in every measure; ahead by name only."),
    "behind_equal_by_margin": N_(
        "Level with {first}; behind because it leaves less memory free ({own_margin_gib} against "
        "{other_margin_gib})."
    ),
    "behind_equal_by_power": N_(
        "Level with {first}; behind because it draws more power ({own_power_w} against {other_power_w})."
    ),
    "behind_equal_by_name": N_("Level with {first} in every measure; behind by name only."),
    "faster_than_first": N_("{percent} faster than the first."),
    "slower_than_first": N_("{percent} slower than the first."),
    "on_pareto_front": N_("No other option is both cheaper and faster."),
    # What to mind about an option
    "availability_remark": N_("Since {since}, for {region}: {statement}"),
    "sold_though_restricted": N_(
        "Restricted in {region} since {since}: ask for its origin and an invoice. {statement}"
    ),
    "restricted_by_thresholds": N_(
        "By its figures an export rule for {region} covers it since {since}: ask for its origin and an "
        "invoice. {statement}"
    ),
    "power_assumed": N_("Its power is not published; the cost of energy rests on an assumed figure."),
    "tight": N_("Tight: the expected need leaves {margin_gib}, the high estimate does not fit."),
    "price_is_estimate": N_(
        "The price is an estimate, not an offer: {low_cny} to {high_cny} today, last seen {observed_on}. "
        "Ask for a quote."
    ),
    "price_carried": N_(
        "Observed {amount_cny} on {observed_on}; carried to today by the market of its class: {expected_cny}."
    ),
    "price_stale": N_("The price is stale: observed {observed_on}."),
    "price_ageing": N_("The price is ageing: observed {observed_on}, {age_days} days ago."),
    "price_converted": N_(
        "The price is converted from {currency} at {rate}; import duty and tax are not in it."
    ),
    "price_is_launch_price": N_("Only the launch price of {observed_on} is known."),
    "price_variant_assumed": N_("The source does not say which variant of the card its price is for."),
    "price_is_of_server": N_("The price is of a whole 8-card server, host included: {amount_cny}."),
    "module_needs_board": N_(
        "{form_factor}, no plug-in card: it runs on a base board (HGX, UBB) in its own server, which this "
        "price does not hold."
    ),
    "modded_without_warranty": N_("Modified card, without the maker's warranty."),
    "engine_lacks_format": N_(
        "{framework} has no {precision} kernels for {gpu}; they need compute capability {needed}."
    ),
    "no_tensor_cores": N_(
        "No tensor cores ({capability}): 16-bit and narrower formats run, without a speed-up over FP32."
    ),
    "runs_as_fp16": N_("The card has no {precision}; computed as FP16."),
    "precision_falls_back": N_("The card has no {precision} rate; the products run at 16 bits."),
    # Why a card is not on the list
    "rejected_memory": N_("Needs {need_gib} on each card, {usable_gib} are usable: {shortfall_gib} short."),
    "rejected_memory_unknown": N_("Its usable memory is not known."),
    "rejected_service": N_(
        "{count} of them serve {users} users with {tokens_per_s_per_user} tokens/s each and the first token "
        "after {first_token_s} s: less than was asked."
    ),
    "remedy_service": N_(
        "Accept {tokens_per_s_per_user} tokens/s for each user, the first after {first_token_s} s."
    ),
    "usual_service": N_("Not stated; what a reader takes for fluent. 0 removes it."),
    "ignored_without_output": N_("It counts where tokens are written."),
    "rejected_budget": N_("With host it costs {needed}, {over} above the budget."),
    "rejected_power": N_("Draws {power_w}, above the limit of {limit_w}."),
    "rejected_count": N_("{count} cards are more than the limit."),
    "rejected_unpriced": N_(
        "No price that may count is known in the conditions asked for: ask for a quote, or give your own."
    ),
    "unpriced_no_rate": N_("Its price is in a currency without a known rate."),
    "unpriced_too_old": N_("Its newest price is more than two years old: ask for a quote."),
    "unpriced_old_card": N_(
        "A card this old is hardly sold new, and what is known of its price says nothing about today."
    ),
    "unpriced_band_too_wide": N_(
        "What is known of its price leaves more than a factor of four open: ask for a quote."
    ),
    "unpriced_module": N_("A module, sold in whole servers; no price of one is known: ask for a quote."),
    "unpriced_not_sold_apart": N_("It is not sold as a card."),
    "unpriced_new_of_discontinued": N_("No longer made, and no shop is known that still sells it new."),
    "unpriced_unknown_bin": N_("Its only price does not say which version of the chip it is for."),
    "rejected_availability": N_(
        "Not to be bought in {region} since {since}, and no price of today is known: {statement} ({source})"
    ),
    "rejected_evidence": N_(
        "Only an estimate is known, {low_cny} to {high_cny}, last seen {observed_on}: ask for a quote."
    ),
    "rejected_stale_price": N_(
        "Its newest price is of {observed_on}, {age_days} days ago, and stale prices are refused."
    ),
    "rejected_deadline": N_("The work takes {work_hours}\u00a0h, longer than {deadline_hours}\u00a0h."),
    # What would change it
    "remedy_flash_attention": N_("Use flash attention."),
    "remedy_kv_fp8": N_("Keep the KV cache in FP8."),
    "remedy_kv_q8_0": N_("Keep the KV cache in Q8_0."),
    "remedy_quantized_weights": N_("Use weights in {precision}."),
    "remedy_chunked_logits": N_("Compute the loss in chunks, without all logits at once."),
    "remedy_mixed_precision": N_("Train in mixed precision (BF16)."),
    "remedy_gradient_checkpointing": N_(
        "Recompute activations (gradient checkpointing); about a quarter slower."
    ),
    "remedy_optimizer_8bit": N_("Use AdamW with 8-bit states."),
    "remedy_pure_16bit": N_("Train purely in 16 bit, without a 32-bit copy of the weights."),
    "remedy_lora": N_("Train adapters (LoRA) instead of all weights."),
    "remedy_qlora": N_("Train adapters over 4-bit weights (QLoRA)."),
    "remedy_more_cards": N_("Share the work over {cards} cards."),
    "remedy_smaller_batch": N_("Take a batch of {batch_size}."),
    "remedy_smaller_batch_accumulated": N_(
        "Take a batch of {batch_size} and accumulate {gradient_accumulation} steps."
    ),
    "remedy_combined": N_("Several changes together: {changes}."),
    "remedy_use_fp16": N_("Ask for FP16 in place of {precision}."),
    "remedy_change_engine": N_("Use {to} instead."),
    "remedy_vendor": N_("Allow this vendor."),
    "remedy_framework": N_("Leave the framework out, or ask for another version."),
    "remedy_os": N_("Run it on Linux."),
    "remedy_feature": N_("Do without this feature."),
    "remedy_count": N_("Allow {count} cards."),
    "remedy_power": N_("Allow {power_w}."),
    "remedy_budget": N_("Raise the budget to {needed}."),
    "remedy_deadline": N_("Allow {work_hours}\u00a0h."),
    "remedy_stale_price": N_("Accept stale prices, or record a newer one."),
    "remedy_availability": N_("Let cards count that are not sold there, at an estimate."),
    "remedy_evidence": N_("Let estimates count, or give your own price for {gpu}."),
    "remedy_unpriced": N_("Give your own price for {gpu}."),
    "remedy_estimates_count": N_("Let estimates of prices count."),
    # Advice beside the list
    "fp32_unit_misjudges": N_(
        "FP32 TFLOPS per 1000 yuan count vector units alone: at {amount_cny} {gpu} has "
        "{vector_tflops_per_1000_cny} by its {vector_tflops} in FP32, but {matrix_tflops_per_1000_cny} by "
        "the {matrix_tflops} of its tensor cores in 16 bit. Compare cards by what the work costs."
    ),
    "vram_tier": N_("On one card alone: the {tier} class."),
    "vram_tier_several": N_("No single card holds it: about {cards} cards of 80 GB."),
    "rejected_class": N_("{gpu} is no data-centre card, which your answers call for."),
    "rejected_shared": N_(
        "{gpu} has no partitions in hardware (MIG): several tenants would share one card. Give each its own."
    ),
    "rejected_shared_unknown": N_(
        "Whether {gpu} has partitions in hardware is not known: give each of several tenants its own card."
    ),
    "class_data_centre": N_("{yes} of the four questions are answered yes ({answers}): data-centre cards."),
    "class_multi_gpu_or_data_centre": N_(
        "One card alone would need {need_gib}, more than the {card_gib} that a 24 GB card has usable: share "
        "it over several cards, or take a data-centre card."
    ),
    "class_single_card_after_changes": N_(
        "One card alone would need {need_gib}, more than the {card_gib} that a 24 GB card has usable. It "
        "fits one after: {changes}. It then needs {after_gib}."
    ),
    "class_single_card": N_("One consumer or workstation card is enough; it needs {need_gib}."),
    "tenants_need_partitions": N_(
        "Several tenants: a card with MIG parts them in hardware; otherwise give each its own card."
    ),
    "sla_spare_is_counted": N_(
        "A strict service level comes from a spare, not from a dearer card: the costs hold {spare} spare "
        "machine with its cards."
    ),
    "strict_sla_spare": N_("For the strict service level; 0 takes it out."),
    "sla_needs_spare_node": N_(
        "A strict service level comes from a spare: at least {nodes} hosts, not a dearer card."
    ),
    "low_utilisation": N_("The cards would work only {utilisation} of the time: compare with renting."),
    "power_supply": N_("Power supply: at least {minimum_w}, better {advised_w}."),
    "open_fans_heat": N_(
        "Cards with open fans heat each other: leave a slot free between them or take cards with a blower."
    ),
    "used_age": N_("Age {years} years since launch."),
    "used_age_unknown": N_("The age of the card is not known."),
    "used_private_use": N_("Ask for proof of private use."),
    "used_box_and_invoice": N_("Ask for box and invoice."),
    "used_mining": N_("Ask whether it was used for mining."),
    "used_warranty": N_("Ask how much warranty is left."),
    "used_stress_test": N_("Run a stress test before paying."),
    # Models
    "framework_needs_older_release": N_(
        "The newest {framework} does not run on {gpu}; release {version} does."
    ),
    "config_too_deep": N_("The config is nested deeper than {limit} levels."),
    "config_too_large": N_("The config holds more than {limit} values."),
    "unknown_model_type": N_("The model type is not known; it is read as a Llama-like decoder."),
    "key_not_understood_layout": N_(
        "The key {key} is not understood: it may say that not all layers attend, which changes parameters "
        "and cache by a multiple."
    ),
    "key_not_understood_cache": N_("The key {key} is not understood: it may change the cache by a multiple."),
    "key_not_understood_size": N_(
        "The key {key} is not understood: it may change the parameters by more than 5 %."
    ),
    "key_not_understood_weights": N_(
        "The key {key} is not understood: it may change the bytes of the weights by half."
    ),
    "key_not_understood_factor": N_(
        "The key {key} is not understood: the experts may have {factor} times the parameters counted here."
    ),
    "size_differs_from_name": N_(
        "The name says {stated_parameters} parameters, the dimensions come to {counted_parameters}."
    ),
    "active_differs_from_name": N_(
        "The name says {stated_parameters} active parameters, the dimensions come to {counted_parameters}."
    ),
    "size_differs_from_stated": N_(
        "{stated_parameters} parameters were stated, the dimensions come to {counted_parameters}."
    ),
    "size_differs_from_index": N_(
        "The index says {stated_gib} of weights, the config comes to {counted_gib}; the index counts."
    ),
    "precision_not_in_file": N_(
        "The name says {type}, the config does not: how the weights are stored lies in another file "
        "(hf_quant_config.json); 16 bit is assumed."
    ),
    "quantization_not_understood": N_(
        "{key} {value} is not understood: weights are counted at the bits it states, else at 16 bit; they "
        "may take a quarter of that."
    ),
    "quantization_pattern_unread": N_(
        "The pattern {pattern} of modules that stay at 16 bit was not read: the weights may take more."
    ),
    "nothing_quantized": N_("No module of this model is one that the file says is quantized."),
    "bits_are_a_mean": N_(
        "{method} at {bits} bits a weight on average: the bytes are right, vLLM and SGLang do not load it."
    ),
    "experts_assumed_fp4": N_(
        "The experts are taken to be FP4, as released: the file does not state expert_dtype."
    ),
    "index_keys_apart": N_(
        "Keys of the indexers take {bytes} bytes a token more, in FP8; memory counts them."
    ),
    "windows_apart": N_(
        "Layers with a window of {window} tokens take {bytes} bytes a token more up to that length."
    ),
    "cache_has_scales": N_("The checkpoint brings scales for a cache in {precision}."),
    "no_dimensions": N_("Bytes are exact; active parameters, cache and state need the config.json."),
    "count_assumes_16_bit": N_("The count takes two bytes for a parameter: the index does not say the type."),
    "count_assumes_4_bit": N_("Packed weights are counted at 4 bits."),
    "packed_count_unknown": N_("The weights are packed: their number needs the config.json."),
    "gguf_cut_off": N_(
        "The bytes sent end before the list of tensors: weights are estimated from the type of the file."
    ),
    "gguf_type_unknown": N_("Tensors of unknown types ({types}): their bytes are those of the file."),
    "state_not_known": N_("The state of the layers without a cache is not known."),
    "vision_tower_not_counted": N_("The vision tower is not in the parameter count."),
    "parameters_differ": N_(
        "The stated size differs from the dimensions by more than 10 %; the stated size counts."
    ),
    "gpu_memory_unknown": N_("The memory of {gpu} is not known."),
    "speed_unknown": N_("No trusted rate of {gpu} in {precision} is known."),
    "work_required_by_deadline": N_("A deadline needs the amount of work."),
    "budget_not_converted": N_("The budget must be in yuan here."),
    # Speed and measurements
    "reference_kernels": N_(
        "This engine runs reference kernels for experts or quantized weights: no roofline tells their time, "
        "so the interval is wide. A serving engine is usually many times faster."
    ),
    "saturated_up_to": N_(
        "Not stated; the engine is full: up to {value} sequences per replica, fewer where the KV cache holds "
        "fewer."
    ),
    "saturated_sequences": N_("Not stated; the engine is full: so many sequences at once."),
    "tf32_runs_as_fp32": N_("{gpu} has no TF32: it computes in FP32, at the speed of FP32."),
    "latency_limit_unreachable": N_(
        "{limit_ms} ms per token cannot be kept: under this load a token takes {reachable_ms} ms."
    ),
    "rejected_latency": N_(
        "Under this load a token takes at least {reachable_ms} ms, longer than the {limit_ms} ms allowed."
    ),
    "remedy_latency_limit": N_(
        "Allow {allowed_ms} ms per token, or take a smaller model or fewer bits per weight."
    ),
    "cannot_run_there": N_("It does not fit on {count} × {gpu} ({margin_gib} short), so there is no speed."),
    "engine_cannot_run_there": N_("{engine} does not run on {gpu}, so there is no speed."),
    # The check of a card
    "card_as_sold": N_("{gpu}: what was measured agrees with what it is sold as."),
    "card_doubtful": N_(
        "{gpu}: nothing speaks against it, but something holds it back or differs; see below."
    ),
    "card_not_as_sold": N_("{gpu}: this is not what it is sold as."),
    "card_not_measured": N_("Nothing is said of {gpu}: the script ran without a card, or with small sizes."),
    "other_name": N_("The driver calls this card {reported}, which is not {gpu}."),
    "other_chip": N_(
        "The chip has {measured} multiprocessors, that of {gpu} has {expected}. Firmware cannot add any: it "
        "is another chip."
    ),
    "other_capability": N_(
        "The chip has compute capability {measured}, {gpu} has {expected}: another family."
    ),
    "memory_too_small": N_(
        "Memory: {measured} GiB, {expected} GiB expected. Less memory is another card, or one that was "
        "altered."
    ),
    "memory_larger": N_(
        "Memory: {measured} GiB, {expected} GiB usual. A variant with more memory, or firmware that claims "
        "it: see how much came back unchanged."
    ),
    "memory_not_real": N_(
        "Of {expected} GiB written, {measured} GiB came back unchanged: the rest is claimed by the firmware "
        "or broken."
    ),
    "bandwidth_low": N_(
        "Copy: {measured} GB/s, sound cards reach {expected} GB/s; more than 15 % short. Worn or missing "
        "memory chips, or another card."
    ),
    "rate_low": N_(
        "Matrix products in {precision}: {measured} TFLOPS, sound cards reach {expected} TFLOPS; more than "
        "15 % short. Look at cooling, power limit and slot first."
    ),
    "ecc_errors": N_("{measured} memory errors that could not be corrected."),
    "power_limited": N_("The power limit is {measured} W, {expected} W is usual: rates are lower for it."),
    "throttled": N_("Under load the driver held the clocks down: look at cooling and power supply."),
    "measurement_not_used": N_(
        "The speed was kept and is not used: what another card does says nothing of the kind that this one "
        "is sold as."
    ),
    "measurement_quick": N_(
        "Measured with --quick: small sizes say nothing of the speed; nothing was stored."
    ),
    "measurement_without_card": N_("The script ran without a card; nothing was stored."),
    "measurement_without_workload": N_(
        "The workload was not measured ({reason}); only the card was checked."
    ),
    # Tax of a quote
    "price_put_on_tax_basis": N_("Quoted at {stated} {currency}, {tax}; set at {tax_percent} tax."),
    "price_tax_rate_assumed": N_("The quote states no tax rate; {tax_percent} is assumed."),
    "price_of_unknown_tax": N_("Whether tax is in the price is not said; it counts as written."),
    # Fields that do nothing for a question
    "ignored_in_inference": N_("Ignored: only training has it."),
    "ignored_in_training": N_("Ignored: only inference has it."),
    "ignored_in_full_training": N_(
        "Ignored: full training holds all weights on the card, in its own formats."
    ),
    "ignored_without_adapter": N_("Ignored: only LoRA and QLoRA have an adapter."),
    "ignored_for_adapters": N_("Ignored: an adapter's states are counted as AdamW's."),
    "ignored_by_family": N_("Ignored: models of this kind have no such thing."),
    "ignored_by_engine": N_("Ignored: the engine sets it by itself."),
    "ignored_without_experts": N_("Ignored: the model has no experts."),
    "ignored_without_checkpointing": N_("Ignored: only the checkpoints of activations can be offloaded."),
    "ignored_with_one_replica": N_("Ignored: one replica has nothing to shard its states with."),
    "ignored_under_single_load": N_("Ignored: one request at a time has no batch to limit."),
    "ignored_not_modelled": N_("Ignored: its effect is not modelled for this question."),
    "work_hours_of_audio": N_("Hours of a speech model are hours of audio, not of running."),
    "kv_heads_do_not_divide": N_("{heads} attention heads cannot share {kv_heads} KV heads evenly."),
    "vision_tower_estimated": N_("The vision tower is of an unknown type; it is counted as a plain one."),
    "audio_tower_not_counted": N_("The audio tower is not in the parameter count."),
    "engine_cannot_train": N_("The stated engine only runs models; training is computed with PyTorch."),
    # Systems and drivers
    "no_driver_on_macos": N_("{gpu} has no driver for macOS."),
    "engine_not_on_windows": N_("{framework} has no build for native Windows; use WSL2 or Linux."),
    "card_not_on_system": N_("{framework} does not use {gpu} under {os}; its stack is made for Linux."),
    "rocm_in_part_on_windows": N_("Under {os}, of ROCm only a part runs on {gpu}: PyTorch, as a preview."),
    "driver_too_old_for_card": N_(
        "Driver {driver} is older than the first one that knows {gpu} ({needed}), "
        "whatever the framework accepts."
    ),
    "driver_of_card_unknown": N_("Which driver first knew {gpu} is not recorded; {driver} is not checked."),
    "remedy_driver": N_("Install driver {driver} or newer."),
    "framework_no_release_compiled": N_(
        "No {framework} package has compiled code for {gpu} (compute capability {capability}): "
        "it is compiled at start, and failures are reported."
    ),
    # Number formats and engines
    "precision": N_("{gpu} has no {precision} arithmetic, so there is no speed. Ask for FP16."),
    "card_lacks_precision": N_("{gpu} has no {precision} arithmetic: use FP16."),
    "engine_not_for_family": N_(
        "{engine} does not run models of this kind ({family}): figures are no more than a guess."
    ),
    "context_beyond_model": N_(
        "{tokens} tokens are more than the model itself reads ({context}): no verdict is better than tight."
    ),
    "format_not_for_family": N_(
        "{precision} is not used for models of this kind ({family}): figures are no more than a guess."
    ),
    # Rows of measurements
    "own_by_default": N_("No source was named: stored as your own measurement, which is trusted first."),
    "published_by_source": N_("A source was named: stored as a published measurement; say own to change it."),
    "measured_engine_assumed": N_("No framework was stated; {engine} is taken, as a question would."),
    "measurement_task_stored": N_("Stored as a fine-tuning run with {adapter}."),
    "row_unused_precision": N_("Kept, and not used by estimates: the precision is not stated."),
    "row_unused_engine": N_("Kept, and not used by estimates: the framework is not known."),
    "row_unused_model": N_(
        "Kept, and not used by estimates: the model is neither a preset nor a decoder of stated size."
    ),
    "row_unused_unit": N_(
        "Kept, and not used by estimates: models of this kind ({family}) are not measured in {unit}."
    ),
    "row_unused_lengths": N_(
        "Kept, and not used by estimates: batch, lengths or phase do not say what was measured."
    ),
    "row_unused_flag": N_("Kept, and not used by estimates: the row is flagged."),
    # Advice on one option
    "sla_needs_redundancy": N_(
        "For the strict service level take {nodes} hosts like this one: one of them may then fail."
    ),
    "tensorflow_setup": N_("TensorFlow as the estimate assumes it:"),
}
