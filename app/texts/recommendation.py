"""English source texts of the recommendation: what to do, which quotes to ask for; by code."""

from __future__ import annotations

from app.texts.marking import N_

RECOMMENDATION: dict[str, str] = {
    # What to do
    "recommend_buy_one": N_(
        "Buy {option}: it needs {need_gib} and fits, gives {speed}\u00a0{speed_unit}, and costs {total_cny} "
        "over {months} months, {outlay_cny} of it on the day."
    ),
    "recommend_buy_several": N_(
        "Buy {option}: each needs {need_gib} and fits; together they give {speed}\u00a0{speed_unit} and cost "
        "{total_cny} over {months} months, {outlay_cny} of it on the day."
    ),
    "recommend_buy_one_to_serve": N_(
        "Buy {option}: it needs {need_gib} and fits, gives each of {users} users {user_speed} tokens/s, the "
        "first after {first_token} s, and costs {total_cny} over {months} months, {outlay_cny} of it on the "
        "day."
    ),
    "recommend_buy_several_to_serve": N_(
        "Buy {option}: each needs {need_gib} and fits; together they give each of {users} users {user_speed} "
        "tokens/s, the first after {first_token} s, and cost {total_cny} over {months} months, {outlay_cny} "
        "of it on the day."
    ),
    "recommend_rent": N_(
        "Rent {option} from {provider}: the work costs {rent_cny} so, and {total_cny} on cards of one's own."
    ),
    "rent_is_current": N_("The rent is current: {rent_cny} for a card and hour, seen {seen}."),
    "recommend_rent_only": N_(
        "Rent {option} from {provider}: the work costs {rent_cny} so, and nothing that can be bought passes."
    ),
    "buying_pays_from_jobs": N_("Buying costs less from {jobs} such jobs on."),
    "buying_pays_from_hours": N_("Buying costs less from {hours} hours a month on."),
    "buying_pays_from_times": N_("Buying costs less from {times} times as much work on."),
    "buying_never_pays": N_("Even around the clock renting costs less than buying."),
    "recommend_inquire": N_("Ask for quotes before buying: {quotes}."),
    "recommend_none": N_("Nothing that passes this question can be recommended."),
    "quote_below": N_("{option}, first below {wins_below_cny} a card"),
    "quote_of": N_("{option}, expected at {low_cny} to {high_cny} a card"),
    "ask_quote_below": N_(
        "Ask for a quote: {option} is first below {wins_below_cny} a card; {low_cny} to {high_cny} is "
        "expected."
    ),
    "ask_quote_of_server_below": N_(
        "Ask for a quote of a whole server: {option} is first below {server_cny}, that is {wins_below_cny} a "
        "card; {low_cny} to {high_cny} a card is expected."
    ),
    "ask_quote": N_("Ask for a quote: {option} is first; {low_cny} to {high_cny} a card is expected."),
    # What is sent to a supplier
    "quote_list_head": N_("Hello, we are planning a purchase. Please quote for:"),
    "quote_list_item": N_("{option}: price per card"),
    "quote_list_server": N_("{option}: price of the whole server, with its full configuration"),
    "quote_list_foot": N_(
        "Please state for each: the price with tax and the VAT rate, the delivery time, whether the goods "
        "are new or used and where they come from, the warranty and who gives it, and until when the quote "
        "holds. Thank you."
    ),
    "quote_list_empty": N_("No quote would change the answer."),
    "nothing_at_a_price_of_today": N_(
        "No option that fits has a quote or a price of today in the region asked for."
    ),
    "estimate_rests_on": N_(
        "{gpu}: {low_cny} to {high_cny} a card is an estimate; the price behind it was seen {observed_on}."
    ),
    "best_of_sound_by_total_cost": N_("Lowest total cost of all that can be recommended."),
    "best_of_sound_by_purchase": N_("Lowest purchase of all that can be recommended."),
    "best_of_sound_by_tflops_per_yuan": N_("Most sustained TFLOPS per yuan of all that can be recommended."),
    "best_of_sound_by_speed": N_("Fastest of all that can be recommended."),
    "best_of_sound_by_power": N_("Lowest power of all that can be recommended."),
    "held_assumed": N_("{option} costs less for the work that was assumed; say how much there is to do."),
    "held_spread": N_(
        "{option} stands higher, but spreads consumer cards over several machines, without a network for it."
    ),
    "held_split": N_("{option} stands higher, but splits over more cards what fewer do for little more."),
    "held_tight": N_("{option} stands higher, but fits only tightly."),
    "held_tight_fits_after": N_(
        "{option} stands higher, but fits only tightly; for certain it fits after this: {changes}"
    ),
    "held_support": N_("{option} stands higher, but nobody says that its software runs there."),
    "held_estimate": N_("{option} stands higher, but its price is only an estimate."),
    "caveat_quotes": N_("A quote could change it: {quotes}."),
    "caveat_not_firm": N_(
        "Prices and speeds are known within bands: it stays first in {first_fraction} of the draws."
    ),
    "price_is_quote": N_("The price is a valid quote."),
    "price_is_own": N_("The price is your own."),
    "price_is_current": N_("The price is current: {amount_cny}, {channel}, {observed_on}."),
}
