"""English source texts of what may be wrong with an input, a file, a quote or an editor, by code."""

from __future__ import annotations

from app.texts.marking import N_

FAULTS: dict[str, str] = {
    # Faults of a field
    "required": N_("This field is required."),
    "unknown_field": N_("There is no such field."),
    "unknown_value": N_("{value} is not one of the accepted values: {allowed}."),
    "not_an_object": N_("This must be a JSON object."),
    "not_a_number": N_("This must be a number."),
    "full_width_digits": N_("Type the digits in half width: {plain}."),
    "not_an_integer": N_("This must be a whole number."),
    "not_whole": N_("This must be a whole number."),
    "not_finite": N_("This must be a finite number."),
    "not_a_boolean": N_("This must be true or false."),
    "not_a_flag": N_("This must be true or false."),
    "not_a_text": N_("This must be text."),
    "not_plain_text": N_("Control characters are not accepted."),
    "not_a_list": N_("This must be a list."),
    "empty_list": N_("The list must hold at least one value."),
    "list_length": N_("The list must hold {expected} values."),
    "too_long": N_("This is longer than {limit} characters or items."),
    "too_many": N_("The list holds more than {limit} items."),
    "out_of_range": N_("The value must be between {low} and {high}."),
    "too_small": N_("The value must be at least {limit}."),
    "too_large": N_("The value must be at most {limit}."),
    "not_valid": N_("The value is not valid."),
    "not_json": N_("This is not readable as JSON."),
    "date_out_of_range": N_("The date must lie between {first} and {last}."),
    "not_a_date": N_("This must be a date such as 2026-11-30."),
    "not_a_version": N_("This must be a version number such as 550.54."),
    "not_an_image_size": N_("Give one size in pixels, or height and width."),
    "not_a_price_line": N_("“{value}” is not a card and a price, such as rtx3090=6500."),
    "named_twice": N_("{value} is named twice."),
    "unknown_gpu": N_("The catalogue has no card named {value}.{hint}"),
    "unknown_model": N_("The catalogue has no model named {value}.{hint}"),
    "close_names": N_(" Close to it: {candidates}."),
    "ambiguous_name": N_("{value} may mean any of these: {candidates}. Name one of them."),
    "unknown_cursor": N_("No page gave this cursor; start again without it."),
    "no_exchange_rate": N_("No {currency} rate on or before {day} is known."),
    "model_missing": N_("Say which model: a preset, a config or a family."),
    "model_kinds": N_("Give only one of preset, config and family."),
    "config_too_complex": N_(
        "The config is nested deeper than {depth} levels, holds more than {limit} values or absurd numbers."
    ),
    "too_many_cards": N_("The plan needs {cards} cards; at most {limit} are computed."),
    "plan_needs_one_count": N_("Sharing is stated without degrees: name one count of cards, or the degrees."),
    "plan_does_not_match_count": N_(
        "The plan is for {cards} cards (data × tensor × pipeline), not for {count}."
    ),
    "tensor_does_not_divide_heads": N_("{heads} attention heads cannot be split over {tensor} cards."),
    "pipeline_exceeds_layers": N_("{layers} layers cannot make {pipeline} pipeline stages."),
    "expert_exceeds_experts": N_("{experts} experts cannot be spread over {expert} cards."),
    "batch_size_required": N_("Training needs a batch size."),
    "precision_required": N_("Training needs a precision."),
    "sequence_length_required": N_("Training a token model needs its sequence length."),
    "output_longer_than_sequence": N_(
        "The output cannot be longer than the sequence that holds it ({limit} tokens)."
    ),
    "precision_cannot_train": N_("Weights in {value} cannot be trained."),
    "task_needs_transformer": N_("{value} needs a transformer with known layers."),
    "work_unit_does_not_match": N_("Work in {unit} cannot be timed for this model; state it in {units}."),
    # Problems of the API
    "invalid_input_title": N_("The request is not valid"),
    "fields_at_fault": N_("{count} fields need attention."),
    "not_found_title": N_("Not found"),
    "not_found": N_("There is no such thing, or it has been withdrawn."),
    "api_key_required_title": N_("An API key is needed"),
    "api_key_required": N_("Send a valid key in the header X-Api-Key."),
    "stale_price_title": N_("Only a stale price is left"),
    "stale_price_needed": N_(
        "The newest price of {gpus} is older than {days} days, and the request refuses stale "
        "prices. Record a newer price or a quote."
    ),
    "too_many_requests_title": N_("Too many requests"),
    "too_many_requests": N_("This address has used up its calls. Try again in {seconds} s."),
    # Files
    "file_missing": N_("There is no file {value}."),
    "file_empty": N_("The file is empty."),
    "file_too_large": N_("The file is larger than {limit} bytes."),
    "file_takes_too_long": N_("Reading the file takes too long; send it in parts."),
    "old_excel": N_("This is a workbook of the old kind (.xls); save it as .xlsx or CSV."),
    "bad_workbook": N_("This is no workbook that can be read."),
    "zip_bomb": N_("The file would unpack to far more than it is."),
    "not_text": N_("This is neither text nor a workbook."),
    "json_too_deep": N_("Lists and objects may stand in each other {limit} deep at most."),
    "bad_csv": N_("Line {line} is not readable as CSV."),
    "too_many_rows": N_("The table has more than {limit} rows; send it in parts."),
    "too_many_columns": N_("The table has more than {limit} columns."),
    "no_header_row": N_("No row names the columns; expected are {known}."),
    "column_twice": N_("Two columns mean the same: {value}."),
    "unknown_kind": N_("{value} cannot be imported; known are {known}."),
    "no_catalog": N_("{value} holds no exported catalogue."),
    "export_target": N_("The folder {value} holds other files; name an empty one."),
    "columns_differ": N_("The columns are not those of this table: {value}."),
    "cells": N_("The row has {found} cells, another number than the header."),
    # Cells
    "unknown_reference": N_("{value} is not in the catalogue."),
    "unknown_source": N_("{value} is no source of the catalogue."),
    "source_missing": N_("Say where the figure is from: nothing gets in without a source."),
    "not_an_address": N_("This must be an address that starts with https:// or http://."),
    "unknown_currency": N_("{value} is no currency."),
    "currency_missing": N_("Say in which currency."),
    "currency_twice": N_("The amount names two currencies."),
    "currency_conflict": N_("The amount names another currency than the row ({currency})."),
    "ambiguous_currency": N_("A dollar of which country? Say the currency."),
    "same_currency": N_("A rate needs two currencies."),
    "unknown_region": N_("{value} is none of the regions CN, US, HK, TW, EU, global."),
    "ambiguous_date": N_("{value} may be two dates. Write the year first: 2026-07-01."),
    "in_future": N_("{value} is after {day}."),
    "day_needed": N_("A whole date is needed, such as 2026-11-30."),
    "not_a_duration": N_("{value} is no duration."),
    "duplicate_row": N_("This says the same as row {earlier}."),
    "wrong_unit": N_("The unit of {figure} is {expected}, not {value}."),
    "formula_required": N_("A derived figure needs its formula."),
    "per_gpu_mismatch": N_("{value} is not {expected}, the price of the instance by its cards."),
    "architecture": N_("The dimensions describe no model: {detail}"),
    "target_or_candidates": N_("An alias needs either an id or candidates."),
    "two_chosen": N_("Another value of this figure is chosen already."),
    "card_not_confirmed": N_("Which card is meant by {value}? Candidates: {candidates}."),
    "unit_unclear": N_("{value}: how many cards are in it? Say card or server-8."),
    "tax_mismatch": N_("The two prices imply a tax of {implied_percent}, another than stated."),
    "valid_before_quoted": N_("The quote ends before it begins."),
    # What needs a person's confirmation
    "likely_server_price": N_("{ratio} times the usual {usual}: most likely the price of eight cards."),
    "far_from_history": N_("{ratio} times the usual {usual}: confirm that it is right."),
    "above_roofline": N_(
        "{ratio} times what the cards can compute at their best rate ({peak_tflops} each): "
        "most likely another unit."
    ),
    "likely_twd": N_("Prices of Taiwan are in new Taiwan dollars; confirm that this one is in yuan."),
    "likely_yearly_rent": N_(
        "A month would cost {share_percent} of a new card: most likely the rent of a year."
    ),
    "far_from_present": N_("{ratio} times the present {present}: confirm that it is right."),
    "lint": N_("Does not fit the other figures of the card ({figure}): {said}"),
    # Changes
    "unknown_change": N_("The change log has no entry {value}."),
    "not_undoable": N_("Entry {value} cannot be taken back: it changed no single row."),
    "already_undone": N_("Entry {value} has been taken back already."),
    "changed_since": N_("The row has changed since entry {value}; take the later change back first."),
    "in_use": N_("{value} is still used ({table})."),
    "not_undone_title": N_("The change cannot be taken back"),
    # Quotes
    "quote_tax_rate_assumed": N_("Tax rate not stated; {tax_percent} is taken."),
    "quote_tax_assumed_included": N_("Not stated whether tax is included; it is taken as included."),
    "quote_memory_mismatch": N_(
        "The quote says {stated_gib}, but {gpu} has {memory_gib}: another card is meant."
    ),
    "quote_looks_like_server": N_("This looks like the price of a whole server, not of one card."),
    "quote_per_from_words": N_("The item speaks of eight cards: taken as a server of eight, host included."),
    "quote_sparse_rate": N_("{stated_tflops} is the sparse rate at {precision}; dense it is {dense_tflops}."),
    "quote_sparse_tops": N_("{stated_tops} is the sparse rate at {precision}; dense it is {dense_tops}."),
    "quote_sparse_words": N_("The quote speaks of sparse rates; dense ones are half."),
    "quote_no_validity": N_("No last day of validity is stated; it drives no choice."),
    "quote_expired": N_("Expired on {day}."),
    "quote_not_yet_valid": N_("Valid only from {day}."),
    "quote_far_from_market": N_("{ratio} times the market price of {market_cny}."),
    "quote_beyond_reason": N_("{ratio} times the market price of {market_cny}: confirm that it is right."),
    "quote_without_invoice": N_("Without an invoice: no tax can be reclaimed, and no cost booked."),
    "quote_invoice_missing": N_("The kind of invoice is not stated."),
    # The API
    "scope_missing_title": N_("The key may not do this"),
    "scope_missing": N_("This needs a key with the scope {scope}."),
    "manage_token_required_title": N_("A manage token is needed"),
    "manage_token_required": N_("Send the manage token of this comparison in the header X-Manage-Token."),
    "manage_token_wrong_title": N_("The manage token is wrong"),
    "manage_token_wrong": N_("This is not the manage token that the comparison was created with."),
    "import_refused_title": N_("The file cannot be imported"),
    "rows_at_fault": N_("{count} rows need attention; nothing was stored."),
    # Editors and passwords
    "password_short": N_("A password has {limit} characters or more; a few words in a row are easy to keep."),
    "password_long": N_("A password has {limit} characters at most."),
    "password_is_name": N_("A password is neither the name nor one character again and again."),
    "name_not_allowed": N_(
        "{value} cannot be a name: letters, digits, spaces and . · @ ' -, "
        "64 at most, a letter or digit first."
    ),
    "name_taken": N_("There is an editor {value} already."),
    "unknown_editor": N_("There is no editor {value}."),
}
