"""What there is to say of a rule: its explanation, the parameters in it, and an example."""

import re
from collections.abc import Iterator

from seqaudit.replay.contract.rule import Rule
from seqaudit.replay.stages.examples import examples
from seqaudit.replay.stages.systems import PARAMETERS


def explained(rule: Rule) -> Iterator[tuple[str, str]]:
    """Titles and their texts, in the order in which they are read."""
    yield "Meaning", rule.meaning
    yield "Detected", rule.detection
    if named := [name for name in sorted(PARAMETERS) if _names(rule, name)]:
        yield "Parameters", "; ".join(f"{name}: {_parameter(name)}" for name in named) + "."
    yield "What to do", rule.action
    example = examples().get(rule.code)
    if example is not None:
        yield "Example", f"{example.text} ({example.certainty}; {example.where})"
        if command := example.command(rule.code):
            yield "Shown by", command


def _names(rule: Rule, parameter: str) -> bool:
    """Whether a rule's texts name a parameter: in full, or as its own system has it, whose name
    begins as the rule's code does: xmit_interval in a rule MC is mcast.xmit_interval_ms."""
    system, _, key = parameter.partition(".")
    name = re.escape(parameter)
    if system[0] == rule.code[0].lower():
        name += "".join(f"|{word}" for word in (key, key.removesuffix("_ms")) if "_" in word)
    texts = f"{rule.meaning} {rule.detection} {rule.action}"
    return re.search(rf"\b({name})\b", texts) is not None


def _parameter(name: str) -> str:
    parameter = PARAMETERS[name]
    if parameter.default is None:
        return f"{parameter.meaning} (no default)"
    unit = "" if parameter.type is not int else f" {parameter.unit}"
    return f"{parameter.meaning} (default {parameter.default}{unit})"
