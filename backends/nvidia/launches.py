"""Launches of compiled kernels and of a library's products.

They are made on the legacy default stream, or captured and replayed on one other
stream, which waits for it and for which it waits: all are in order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from ...lower.device import Grid
from ...lower.loops import Function
from ..limits import check_count
from ..memory import Block, scratch_of
from .cublas import Arguments, Handle
from .overlaps import overlap
from .tensor_maps import TensorMaps, checked

if TYPE_CHECKING:
    from ..cuda import CudaDevice

WAITING = (9, 0)  # from which on kernels wait by themselves for those before
GRAPHS = 16  # of one program, for the sets of addresses used last

type Step = tuple[str, Sequence[int]]
type Call = tuple[str, Sequence["CudaBuffer"]]
type Addresses = tuple[int, ...]


class Started(Protocol):
    """A kernel or a library's call, on addresses of all buffers of its function."""

    @property
    def name(self) -> str: ...

    def __call__(self, addresses: Sequence[int], stream: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class CudaBuffer:
    """Device memory; `owner` is the block that it lies in, None: somebody else's."""

    address: int
    nbytes: int
    owner: Block[Any] | None


class Replayed:
    """Launches captured as CUDA graphs: one for each set of addresses that comes back,
    as those of whoever takes memory from a pool do."""

    def __init__(
        self, module: CudaModule, steps: Sequence[Step], buffers: Sequence[CudaBuffer]
    ) -> None:
        self.module, self.steps, self.buffers = module, steps, list(buffers)
        self.used = sorted({b for _, args in steps for b in args})
        self.graphs: OrderedDict[Addresses, Graph] = OrderedDict()
        self.graph: Graph | None = None  # of the buffers as they are now

    def place(self, moved: Mapping[int, CudaBuffer]) -> None:
        for b, buffer in moved.items():
            before = self.buffers[b]
            if before is not buffer and before != buffer:
                self.buffers[b], self.graph = buffer, None

    def __call__(self) -> None:
        graph = self.graph
        if graph is None:
            graph = self.graph = self._graph()
        graph()

    def _graph(self) -> Graph:
        at = tuple([self.buffers[b].address for b in self.used])
        found = self.graphs.pop(at, None)
        if found is None:
            calls = [(n, [self.buffers[b] for b in args]) for n, args in self.steps]
            found = self.module.capture(calls)
        self.graphs[at] = found
        if len(self.graphs) > GRAPHS:
            self.graphs.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True)
class Graph:
    """`names` of its kernels go to the `launched`; `held` is what they need."""

    driver: Any
    executable: Any
    stream: Any
    names: tuple[str, ...]
    device: CudaDevice
    held: tuple[Any, ...]

    def __call__(self) -> None:
        self.device.launched.extend(self.names)
        if self.device.is_current:
            (error,) = self.driver.cuGraphLaunch(self.executable, self.stream)
        else:
            with self.device.current():
                (error,) = self.driver.cuGraphLaunch(self.executable, self.stream)
        if error:
            checked((error,))


@dataclass(slots=True)
class CudaModule:
    """The kernels of cubins, which their `owners` keep loaded."""

    device: CudaDevice
    owners: tuple[Any, ...]
    functions: Mapping[str, Function]
    starts: Mapping[str, tuple[Started, ...]]
    scratch: dict[str, tuple[CudaBuffer, ...]] = field(
        default_factory=dict[str, tuple[CudaBuffer, ...]]
    )

    def launch(
        self, name: str, buffers: Sequence[CudaBuffer], scratch: Any = None
    ) -> None:
        with self.device.current():
            self._launch(name, buffers, scratch, None)

    def prepare(self, steps: Sequence[Step], buffers: Sequence[CudaBuffer]) -> Replayed:
        return Replayed(self, steps, buffers)

    def capture(self, calls: Sequence[Call]) -> Graph:
        """The launches in order, as one CUDA graph that can be replayed."""
        cu: Any = import_module("cuda.bindings.driver")
        for name, _ in calls:
            # No allocation inside a capture.
            scratch_of(self.scratch, self.functions[name], self.device.alloc)
        with self.device.current():
            return self._captured(cu, calls)

    def _captured(self, cu: Any, calls: Sequence[Call]) -> Graph:
        stream = self.device.stream
        handle = cu.CUstream(stream.handle)
        mode = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        checked(cu.cuStreamBeginCapture(handle, mode))
        try:
            for name, buffers in calls:
                self._launch(name, buffers, None, stream)
        finally:
            ended = cu.cuStreamEndCapture(handle)
        (graph,) = checked(ended)
        every = [x for f, _ in calls for x in self.starts[f]]
        waiting = all(isinstance(x, Kernel) and x.waits for x in every)
        if waiting and self.device.capability >= WAITING:
            overlap(graph)
        (executable,) = checked(cu.cuGraphInstantiate(graph, 0))
        names = tuple(x.name for x in every)
        held = (self, stream, graph, tuple(calls))
        return Graph(cu, executable, handle, names, self.device, held)

    def _launch(
        self, name: str, buffers: Sequence[CudaBuffer], scratch: Any, stream: Any
    ) -> None:
        function = self.functions[name]
        check_count(function, buffers)
        own = scratch or scratch_of(self.scratch, function, self.device.alloc)
        every = (*buffers, *own)
        addresses = [b.address for b in every]
        for start in self.starts[name]:
            self.device.launched.append(start.name)
            start(addresses, stream)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel and its grid."""

    kernel: Any
    grid: Grid
    maps: TensorMaps
    waits: bool  # for the one before, by itself

    @property
    def name(self) -> str:
        return self.grid.name

    def __call__(self, addresses: Sequence[int], stream: Any) -> None:
        self.kernel.prepared_async_call(
            (self.grid.groups, 1), (self.grid.threads, 1, 1), stream, *addresses,
            *self.maps.of(addresses), shared_size=self.grid.shared_bytes,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Multiplied:
    """A call of cuBLAS."""

    name: str
    handle: Handle
    arguments: Arguments

    def __call__(self, addresses: Sequence[int], stream: Any) -> None:
        where = 0 if stream is None else int(stream.handle)
        self.handle.multiply(self.arguments, addresses, where)
