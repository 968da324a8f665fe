"""The bodies of calculations in /openapi.json: the very models that `services.questions` reads them by.

A route gets its body as it was sent, so that an answer already known needs no reading.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body
from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from app.api import examples
from app.services.bodies import BODIES


class _ReadBy:
    def __init__(self, model: type[BaseModel]) -> None:
        self.model = model

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source, handler
        return core_schema.any_schema()

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        del schema
        return handler.resolve_ref_schema(handler(self.model.__pydantic_core_schema__))


MemoryBody = Annotated[Any, _ReadBy(BODIES.memory), Body(openapi_examples=examples.MEMORY)]
FitBody = Annotated[Any, _ReadBy(BODIES.fit), Body(openapi_examples=examples.FIT)]
SpeedBody = Annotated[Any, _ReadBy(BODIES.fit), Body(openapi_examples=examples.SPEED)]
ShortlistBody = Annotated[Any, _ReadBy(BODIES.shortlist), Body(openapi_examples=examples.SHORTLIST)]
ComparisonBody = Annotated[Any, _ReadBy(BODIES.comparison), Body(openapi_examples=examples.COMPARISON)]
