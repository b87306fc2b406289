"""YAML that a person wrote, of any shape."""

__all__ = ["NotYamlError", "yaml_values"]


class NotYamlError(ValueError):
    """A text that is no YAML, or has values that are none.

    Attributes:
        line: from 1; null if it is not known.
    """

    def __init__(self, line: int | None) -> None:
        super().__init__(line)
        self.line = line

    @property
    def where(self) -> str:
        """`` line 3``, to stand behind the name of a file; empty where it is not known."""
        return f" line {self.line}" if self.line else ""


def yaml_values(text: str) -> object:
    """The values in a text; null: it is empty.

    Raises:
        NotYamlError: also for what PyYAML fails at with errors of Python's own: dates of a 13th
            month, truths that are none, numbers of thousands of digits, lists in lists a thousand
            deep.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """Reads no number that nobody can print."""

        def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
            number: int = super().construct_yaml_int(node)
            str(number)
            return number

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)
    try:
        return yaml.load(text, Loader)  # a SafeLoader
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        raise NotYamlError(mark.line + 1 if mark else None) from problem
    except (
        ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
    ) as problem:  # fmt: skip
        raise NotYamlError(None) from problem
