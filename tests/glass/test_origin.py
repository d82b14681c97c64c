"""Work the recorder does not see is counted as unexplained, and the proof is not complete."""

import ctypes
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from cutaway import glass


def in_a_thread(work: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


class OutsideExp(torch.autograd.Function):
    """e^x by NumPy, forward and backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.from_numpy(np.exp(x.detach().numpy()))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.from_numpy(gradients[0].numpy() * y.numpy())


class Given:
    """What exists before the block: a tensor, a tensor to write to, and memory NumPy shares."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.x = torch.rand(3, 5)
        self.room = torch.zeros(3, 5)
        self.array = np.zeros((3, 5), np.float32)
        self.shared = torch.from_numpy(self.array)


def by_numpy(given: Given) -> Tensor:
    return torch.from_numpy(np.exp((given.x * 2).numpy())) + 1


def by_asarray(given: Given) -> Tensor:
    return torch.as_tensor(np.exp(np.asarray(given.x * 2))) + 1


def by_a_list(given: Given) -> Tensor:
    return torch.tensor([[math.exp(v) for v in row] for row in (given.x * 2).tolist()]) + 1


def by_a_number(given: Given) -> Tensor:
    return torch.tensor(math.exp((given.x * 2).sum().item())) + 1


def in_a_function(given: Given) -> Tensor:
    x = given.x.clone().requires_grad_()
    total: Tensor = (OutsideExp.apply(x * 2) * 3).sum()  # type: ignore[no-untyped-call]
    total.backward()  # type: ignore[no-untyped-call]
    return total


def by_another_thread(given: Given) -> Tensor:
    result: Tensor = in_a_thread(given.x.exp) + 1
    return result


def written_by_another_thread(given: Given) -> Tensor:
    in_a_thread(lambda: given.room.copy_(given.x.exp()))
    return given.room + 1


def a_draw_changed_by_another_thread(given: Given) -> Tensor:
    noise = torch.rand(3, 5)
    in_a_thread(lambda: noise.mul_(2))
    return noise + given.x


def by_a_foreign_kernel(given: Given) -> Tensor:
    made = torch.empty(3, 5)  # as an extension does: reserve, then write to the address
    numbers = np.exp(np.ones((3, 5), np.float32))
    ctypes.memmove(made.untyped_storage().data_ptr(), numbers.ctypes.data, numbers.nbytes)
    return made + given.x


def by_its_address(given: Given) -> Tensor:
    made = given.x * 2
    numbers = np.exp(np.ones((3, 5), np.float32))
    ctypes.memmove(made.data_ptr(), numbers.ctypes.data, numbers.nbytes)
    return made + 1


def written_through_numpy(given: Given) -> Tensor:
    given.room.numpy()[:] = np.exp((given.x * 2).numpy())
    return given.room + 1


def written_through_shared_memory(given: Given) -> Tensor:
    given.array[:] = np.exp((given.x * 2).numpy())
    return given.shared + 1


def memory_half_written(given: Given) -> Tensor:
    made = torch.empty(3, 5)
    made[0] = 1.0
    made[2:] = given.x[2:]
    return made + 1


OUTSIDE = [
    by_numpy, by_asarray, by_a_list, by_a_number, in_a_function, by_another_thread,
    written_by_another_thread, a_draw_changed_by_another_thread, by_a_foreign_kernel,
    by_its_address, written_through_numpy, written_through_shared_memory, memory_half_written,
]  # fmt: skip


@pytest.mark.parametrize("work", OUTSIDE, ids=lambda work: work.__name__)
def test_work_outside_torch_is_unexplained(work: Callable[[Given], Tensor]) -> None:
    given = Given()
    with glass.record() as trace:
        work(given)
    proof = trace.prove()
    assert sum(proof.unexplained.values()) > 0
    assert not proof.complete
    assert not proof.failures
    for address in proof.unexplained:
        assert trace.explain(f"{address}[{','.join('0' * len(trace.value(address).shape))}]").text


def test_a_number_of_unknown_origin_says_so() -> None:
    given = Given()
    with glass.record() as trace:
        by_numpy(given)
    (address,) = trace.prove().unexplained
    explanation = trace.explain(f"{address}[1,2]")
    assert explanation.rule.source == "unexplained"
    assert "did not see" in explanation.words["en"]


def everything_known(given: Given) -> Tensor:
    literal = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    made = torch.empty(3, 5)
    made[0] = 1.0
    made[1:] = given.x[1:]
    total = given.x + given.room + given.shared + literal + torch.rand(3, 5) + made
    if (total > 0).all():  # a question of control flow
        total = total + torch.tensor(0.5)
    print(f"{total.sum().item():.1f}", end="")  # a number read for a report
    total[:, torch.tensor([0, 2])] += 1
    return total


def test_what_was_there_before_and_literals_are_sources(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = Given()
    with glass.record() as trace:
        everything_known(given)
    assert trace.prove().complete
    assert capsys.readouterr().out


def test_a_backward_pass_of_a_graph_from_before_the_block() -> None:
    given = Given()
    x = given.x.clone().requires_grad_()
    loss = (x.exp().tanh() * x).sum()
    with glass.record() as trace:
        loss.backward()  # type: ignore[no-untyped-call]
    assert trace.prove().complete


def test_gradients_from_before_the_block_are_given() -> None:
    net = torch.nn.Linear(5, 2)
    net(torch.rand(3, 5)).sum().backward()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with glass.record() as trace:
        optimizer.step()
    assert trace.prove().complete


def test_tensors_without_memory_may_be_alive() -> None:
    """torch.export leaves tensors whose sizes are symbols, and a patch listens to every call."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv())
    fake = mode.from_tensor(torch.ones(7, 11))
    sized = fake.new_empty(fake.shape[0] + 2)
    layer = torch.nn.Linear(5, 3)
    x = torch.ones(2, 5)
    with glass.patch(layer, {"output[0,0]": 1.0}), glass.record(layer) as trace:
        layer(x)
    assert trace.prove().complete
    assert sized.shape[0] == 9


def test_other_threads_build_tuples_while_a_recording_begins() -> None:
    """Whoever holds a tuple that grows makes Python raise a SystemError in its thread."""
    errors: list[SystemError] = []
    ended = threading.Event()

    def build() -> None:
        while not ended.is_set():
            try:
                tuple(number for number in range(31))  # grows from ten places
            except SystemError as error:
                errors.append(error)

    thread = threading.Thread(target=build)
    thread.start()
    held = torch.ones(3)
    for _ in range(11):
        with glass.record():
            held + 1
    ended.set()
    thread.join()
    assert errors == []
