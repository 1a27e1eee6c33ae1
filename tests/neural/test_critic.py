"""The critic's gradients by hand against those of an automatic differentiator."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from kagemusha.neural.critic import PENALTY, Critic  # noqa: E402


@pytest.fixture
def critic() -> Critic:
    return Critic(7, (6, 5, 4), torch.Generator().manual_seed(3), dropout=0.0)


def plain(critic: Critic, rows, weights, shifts):  # type: ignore[no-untyped-def]
    for matrix, shift in zip(weights[:-1], shifts[:-1], strict=True):
        rows = torch.nn.functional.leaky_relu(rows @ matrix.T + shift, 0.2)
    return (rows @ weights[-1].T + shifts[-1])[:, 0]


def test_gradients_are_those_of_a_graph(critic: Critic) -> None:
    chance = torch.Generator().manual_seed(0)
    fake, real, between = (torch.randn(n, 7, generator=chance) for n in (9, 8, 6))
    loss = critic.gradients(fake, real, between)
    weights = [w.clone().requires_grad_(True) for w in critic.weights]
    shifts = [s.clone().requires_grad_(True) for s in critic.shifts]
    spots = between.clone().requires_grad_(True)
    (slope,) = torch.autograd.grad(plain(critic, spots, weights, shifts).sum(), spots, create_graph=True)
    wanted = plain(critic, fake, weights, shifts).mean() - plain(critic, real, weights, shifts).mean()
    wanted = wanted + PENALTY * ((slope.norm(2, dim=1) - 1) ** 2).mean()
    assert loss == pytest.approx(float(wanted.detach()), rel=1e-5)
    found = [p.grad for p in critic.parameters]
    for mine, theirs in zip(found, torch.autograd.grad(wanted, [*weights, *shifts]), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_slopes_are_those_of_a_graph(critic: Critic) -> None:
    rows = torch.randn(5, 7, generator=torch.Generator().manual_seed(1)).requires_grad_(True)
    (wanted,) = torch.autograd.grad(-plain(critic, rows, critic.weights, critic.shifts).mean(), rows)
    torch.testing.assert_close(critic.towards_real(rows.detach()), wanted, rtol=1e-4, atol=1e-6)


def test_dropout_leaves_out_half_and_doubles_the_rest() -> None:
    critic = Critic(4, (2000,), torch.Generator().manual_seed(3))
    _, (factors,), _ = critic.heard(torch.ones(1, 4))
    assert sorted(factors.unique().tolist()) == pytest.approx([0.0, 0.4, 2.0])
    assert float((factors == 0).float().mean()) == pytest.approx(0.5, abs=0.05)
