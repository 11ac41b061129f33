"""What is wrong with annotations that the reader's function wrote: in themselves, and in what prepare makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch.fx import GraphModule, Node

from common.checks.annotations import (
    ADD,
    ANNOTATION_PUZZLES,
    CONV,
    KEY,
    RELUS,
    AnnotationCase,
    Edge,
    is_fused,
    label,
    observed,
    prepared,
    specs,
)
from common.checks.answers import first_line

# The most telling first: of several mistakes in one graph, the first of these is named.
ORDER = ("fused_with_users", "between", "no_weight", "bias", "in_place", "unfused", "input_missed", "output_missed")
Found = tuple[str, dict[str, str]]


@dataclass(frozen=True)
class AnnotationProblem:
    """What is wrong in one case. ``wanted`` and ``came`` say what differs, edge by edge; "" stands for no observer."""

    code: str
    fields: dict[str, str]
    prepared: GraphModule | None
    wanted: dict[Edge, str]
    came: dict[Edge, str]


class _ReadersError(Exception):
    """The reader's function raised this; it is not prepare that raised."""


def find_annotation_problem(
    name: str, case: AnnotationCase, fn: Callable[..., Any], gm: GraphModule
) -> AnnotationProblem | None:
    """Let ``fn`` annotate ``gm``, a copy of the case's graph, and prepare it; None if the observers are right."""
    given = [specs()[each] for each in ANNOTATION_PUZZLES[name].specs]
    faults: list[Found] = []

    def annotate(model: GraphModule) -> None:
        names = [node.name for node in model.graph.nodes]
        try:
            returned = fn(model, *given)
        except NotImplementedError:
            raise
        except Exception as e:  # whatever the reader's code raises is an answer to explain
            raise _ReadersError from e
        if [node.name for node in model.graph.nodes] != names:
            faults.append(("edited", {}))
        elif not any(KEY in node.meta for node in model.graph.nodes):
            other = isinstance(returned, GraphModule) and returned is not model
            faults.append(("other_graph" if other else "nothing", {}))
        faults.extend(_unfit(model))

    try:
        result = prepared(gm, annotate)
    except NotImplementedError:
        return AnnotationProblem("not_written", {}, None, {}, {})
    except _ReadersError as e:
        return AnnotationProblem("raised", {"error": first_line(e.__cause__)}, None, {}, {})
    except Exception as e:  # prepare can raise anything; the reader gets the first line
        code, fields = faults[0] if faults else (_raised(e), {"error": first_line(e)})
        return AnnotationProblem(code, fields, None, {}, {})
    wanted, came = _told(observed(case.wanted)), _told(observed(result))
    found = faults[0] if faults else _wrong_places(case, name, wanted, came) or _wrong_groups(wanted, came)
    if not found:
        return None
    grouped = found[0] in ("not_shared", "shared_too_much")

    def text(table: dict[Edge, tuple[str, int]], edge: Edge) -> str:
        kind, group = table.get(edge, ("", 0))
        return f"{kind} #{group}" if grouped and kind else kind

    edges = [edge for edge in {**wanted, **came} if text(wanted, edge) != text(came, edge)]
    return AnnotationProblem(*found, result, *({edge: text(table, edge) for edge in edges} for table in (wanted, came)))


def _unfit(gm: GraphModule) -> Iterator[Found]:
    """Annotations that prepare would stumble over, or pass over in silence."""
    from torchao.quantization.pt2e.quantizer import QuantizationAnnotation

    for node in gm.graph.nodes:
        annotation = node.meta.get(KEY)
        if annotation is not None and not isinstance(annotation, QuantizationAnnotation):
            yield "not_an_annotation", {"node": node.name, "came": type(annotation).__name__}
            continue
        for source in annotation.input_qspec_map if annotation else ():
            if not isinstance(source, Node):
                yield "key_not_node", {"node": node.name, "came": repr(source)}
            elif source not in node.all_input_nodes:
                yield "key_no_input", {"node": node.name, "came": source.name}


def _raised(e: Exception) -> str:
    match e:
        case RecursionError():
            return "shared_cycle"
        case KeyError():
            return "shared_nowhere"
        case AssertionError() if "only refer to edge or node that has observer" in str(e):
            return "shared_early"
    return "prepare_raised"


def _told(found: dict[Edge, tuple[Any, ...]]) -> dict[Edge, tuple[str, int]]:
    """What is on each edge: the specs, and a number that edges have in common if they share their observers."""
    numbers: dict[tuple[int, ...], int] = {}
    told = {}
    for edge, observers in found.items():
        key = tuple(map(id, observers))
        told[edge] = label(observers), numbers.setdefault(key, len(numbers) + 1)
    return told


def _wrong_places(case: AnnotationCase, name: str, wanted: dict, came: dict) -> Found | None:
    """The most telling edge that lacks observers, has them without need, or has others than it should."""
    nodes = {node.name: node for node in case.before.graph.nodes}
    op = ANNOTATION_PUZZLES[name].op
    found: list[Found] = []
    for edge in (edge for edge in wanted if edge not in came):
        source, user = (nodes[each] for each in edge)
        found.append((_missing(source, user, op, came), {"edge": " → ".join(edge), "node": source.name}))
    for edge in (edge for edge in came if edge not in wanted):
        source, user = (nodes[each] for each in edge)
        found.append((_surplus(source, user, op), {"edge": " → ".join(edge), "node": source.name}))
    found.sort(key=lambda each: ORDER.index(each[0]) if each[0] in ORDER else len(ORDER))
    if not found:
        found = [
            ("other_spec", {"edge": " → ".join(edge), "wanted": kind, "came": came[edge][0]})
            for edge, (kind, _) in wanted.items()
            if came[edge][0] != kind
        ]
    return found[0] if found else None


def _missing(source: Node, user: Node, op: Any, came: dict) -> str:
    if user.target is CONV and op is CONV:
        half = source is user.args[1] and (user.args[0].name, user.name) in came
        return "no_weight" if half else "input_missed"
    if source.target is RELUS[1] and op is ADD:
        return "in_place"
    if source.target is op:
        return "unfused" if op is ADD else "output_missed"
    return "input_missed" if user.target is op else "output_missed"


def _surplus(source: Node, user: Node, op: Any) -> str:
    if user.target is CONV and source in user.args[2:3]:
        return "bias"
    if op is ADD and source.target is ADD and is_fused(source):
        return "between"
    first = source.args[0] if source.args else None
    if op is ADD and source.target in RELUS and isinstance(first, Node) and first.target is ADD and not is_fused(first):
        return "fused_with_users"
    return "surplus"


def _wrong_groups(wanted: dict[Edge, tuple[str, int]], came: dict[Edge, tuple[str, int]]) -> Found | None:
    """Two edges that should share an observer and do not, or the other way round. All labels are equal here."""
    for a in wanted:
        for b in wanted:
            together, are = wanted[a][1] == wanted[b][1], came[a][1] == came[b][1]
            if together != are:
                code = "not_shared" if together else "shared_too_much"
                return code, {"edge": " → ".join(a), "other": " → ".join(b)}
    return None
