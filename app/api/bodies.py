"""Bodies that `services.requests` reads and a pydantic model documents.

The reader collects every fault in the asker's language; the model gives /openapi.json its schema and its
examples. A test holds the two to the same fields and ranges.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body
from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from app.api import examples
from app.api.schemas.requests import (
    ComparisonRequest,
    FitRequest,
    MemoryRequest,
    ShortlistRequest,
    SpeedRequest,
)


class _DocumentedBy:
    def __init__(self, model: type[BaseModel]) -> None:
        self.model = model

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source, handler
        return core_schema.any_schema()

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        del schema
        return handler(self.model.__pydantic_core_schema__)


MemoryBody = Annotated[Any, _DocumentedBy(MemoryRequest), Body(openapi_examples=examples.MEMORY)]
FitBody = Annotated[Any, _DocumentedBy(FitRequest), Body(openapi_examples=examples.FIT)]
SpeedBody = Annotated[Any, _DocumentedBy(SpeedRequest), Body(openapi_examples=examples.SPEED)]
ShortlistBody = Annotated[Any, _DocumentedBy(ShortlistRequest), Body(openapi_examples=examples.SHORTLIST)]
ComparisonBody = Annotated[Any, _DocumentedBy(ComparisonRequest), Body(openapi_examples=examples.COMPARISON)]
