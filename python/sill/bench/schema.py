"""Hold results against result.schema.json: as much of JSON Schema as that file uses."""

from __future__ import annotations

import json
from typing import Any

from .scenario import data

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def problems(results: Any, schema: dict[str, Any] | None = None, at: str = "results") -> list[str]:
    """What is not as the schema says, one line each; empty if all is well."""
    if schema is None:
        schema = json.loads(data("result.schema.json").read_text())
    wanted = schema.get("type", list(_TYPES))
    if not any(_is(results, name) for name in ([wanted] if isinstance(wanted, str) else wanted)):
        return [f"{at}: not of type {wanted}"]
    if "enum" in schema and results not in schema["enum"]:
        return [f"{at}: {results!r} is none of {schema['enum']}"]
    found = []
    if isinstance(results, dict):
        properties = schema.get("properties", {})
        found += [f"{at}: no {key}" for key in schema.get("required", []) if key not in results]
        if schema.get("additionalProperties") is False:
            found += [f"{at}: {key} isn't in the schema" for key in results if key not in properties]
        for key, rule in properties.items():
            found += problems(results[key], rule, f"{at}.{key}") if key in results else []
    elif isinstance(results, list) and "items" in schema:
        for index, item in enumerate(results):
            found += problems(item, schema["items"], f"{at}[{index}]")
    return found


def _is(value: Any, name: str) -> bool:
    """Whether a value has a JSON type; in Python True is also an int."""
    return isinstance(value, _TYPES[name]) and not (isinstance(value, bool) and name in ("integer", "number"))
