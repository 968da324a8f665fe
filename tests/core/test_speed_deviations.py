"""Pooling over causes: the fast ways to the answer agree with the plain one."""

from __future__ import annotations

import numpy as np
import pytest

from app.core.speed.deviations import Points, Posterior, causes_of, covariance

CAUSES = causes_of("no class of its own")
RNG = np.random.default_rng(7)
N = 40


def points(n: int) -> Points:
    draw = {"card": 6, "precision": 2, "engine": 2, "model": 4, "series": 2, "source": 3}
    codes = {name: RNG.integers(0, size, n) for name, size in draw.items()}
    # A card belongs to one family.
    codes["card_class"] = codes["card"] // 2
    return Points(codes, RNG.uniform(0, 6, n), RNG.uniform(7, 12, n), RNG.integers(0, 4, n).astype(float))


ROWS = points(N)
RATIOS = RNG.normal(0.1, 0.2, N)
POSTERIOR = Posterior.of(CAUSES, ROWS, RATIOS, 0.05)


def plain(known: np.ndarray, asked: Points) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance by the textbook, from the covariance of the known rows alone."""
    inside = POSTERIOR.covariance_matrix[np.ix_(known, known)]
    cross = sum(cause.spread**2 * covariance(cause, asked, ROWS.take(known)) for cause in CAUSES)
    prior = 0.05**2 + sum(cause.spread**2 * (asked.count if cause.scaling else 1.0) for cause in CAUSES)
    inverse = np.linalg.inv(inside)
    return cross @ inverse @ RATIOS[known], prior - np.einsum("ij,jk,ik->i", cross, inverse, cross)


def unknown_source(asked: Points) -> Points:
    return Points({**asked.codes, "source": np.full(len(asked), -1)}, asked.batch, asked.length, asked.count)


@pytest.mark.parametrize("hidden", [[3], [1, 5, 8], list(range(30)), list(range(0, N, 2))])
def test_hiding_rows_is_the_same_as_never_having_had_them(hidden):
    left_out = np.array(hidden)
    known = np.setdiff1d(np.arange(N), left_out)
    mean, variance = POSTERIOR.without(left_out, left_out[:2])
    expected = plain(known, unknown_source(ROWS.take(left_out[:2])))
    assert mean == pytest.approx(expected[0], abs=1e-9)
    assert variance == pytest.approx(np.maximum(expected[1], 0.05**2), rel=1e-6)


def test_each_row_alone_is_the_same_as_one_after_the_other():
    mean, variance = POSTERIOR.each_without_itself()
    for row in (0, 11, 39):
        one = POSTERIOR.without(np.array([row]), np.array([row]))
        assert (mean[row], variance[row]) == (pytest.approx(one[0][0]), pytest.approx(one[1][0]))


def test_a_whole_table_of_cards_gets_what_each_card_would():
    asked = points(1)
    cards = {"card": np.array([0, 3, 5, -1]), "card_class": np.array([0, 1, 2, 1])}
    counts = np.array([0.0, 1.0, 3.0])
    pulls = POSTERIOR.covariances(asked)
    table = pulls.mean(cards, counts)
    every = np.arange(N)
    for i in range(4):
        for j, count in enumerate(counts):
            codes = {
                **asked.codes,
                "card": cards["card"][i : i + 1],
                "card_class": cards["card_class"][i : i + 1],
            }
            point = Points(codes, asked.batch, asked.length, np.array([count]))
            mean, variance = plain(every, point)
            assert table[i, j] == pytest.approx(mean[0], abs=1e-9)
            own = {name: k[i : i + 1] for name, k in cards.items()}
            assert pulls.variance(own, np.array([count])) == pytest.approx(
                np.maximum(variance, 0.05**2), rel=1e-6
            )


def test_many_cells_at_once_are_as_many_one_by_one():
    pulls = POSTERIOR.covariances(points(1))
    cards = {"card": RNG.integers(0, 6, 25), "card_class": np.zeros(25, dtype=np.intp)}
    counts = RNG.integers(0, 4, 25).astype(float)
    together = pulls.variance(cards, counts)
    alone = [
        float(pulls.variance({n: k[i : i + 1] for n, k in cards.items()}, counts[i : i + 1])[0])
        for i in range(25)
    ]
    assert together == pytest.approx(alone)


def test_a_row_far_from_all_others_hardly_counts():
    same = Points(
        {k: np.zeros(9, dtype=np.intp) for k in ROWS.codes}, np.full(9, 5.0), np.full(9, 9.0), np.zeros(9)
    )
    ratios = np.array([0.1] * 8 + [3.0])
    pulls = Posterior.of(CAUSES, same, ratios, 0.05).covariances(same.take(np.array([0])))
    card = {"card": np.array([0]), "card_class": np.array([0])}
    assert float(pulls.mean(card, np.array([0.0]))[0, 0]) == pytest.approx(0.1, abs=0.04)


def test_no_evidence_leaves_the_model_as_it_is():
    strange = Points({k: np.full(1, -1) for k in ROWS.codes}, np.array([5.0]), np.array([9.0]), np.zeros(1))
    causes = tuple(cause for cause in CAUSES if cause.labels)
    pulls = Posterior.of(causes, ROWS, RATIOS, 0.05).covariances(strange)
    card = {"card": np.array([-1]), "card_class": np.array([-1])}
    assert pulls.mean(card, np.zeros(1))[0, 0] == 0.0
    whole = 0.05**2 + sum(cause.spread**2 for cause in causes if not cause.scaling)
    assert pulls.variance(card, np.zeros(1))[0] == pytest.approx(whole)
