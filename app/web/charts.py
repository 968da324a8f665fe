"""Data and layout of the charts of an answer, for Plotly."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from app.charts import shortlist as charts
from app.charts.cost_speed import pareto_chart
from app.charts.theme import THEMES
from app.core.answer import plain
from app.web import answer_tables
from app.web.option import answered

router = APIRouter()


@router.get("/charts/{kind}")
def chart(request: Request, kind: str) -> Response:
    """Data and layout of a chart for Plotly."""
    theme = request.query_params.get("theme", "light")
    theme = theme if theme in THEMES else "light"
    if kind not in ("value", "memory", "pareto"):
        raise HTTPException(404)
    asked, answer = answered(request)
    language, text = asked.page.language, asked.page._
    options = answer.options
    if kind == "value":
        return JSONResponse(plain(charts.value_chart(options, theme, text)))
    if kind == "memory":
        trains = answer_tables.trains(answer.question)
        used = answer_tables.used_gib(answer.question)
        drawn = charts.memory_chart(options, theme, text, trains=trains, used_gib=used)
        return JSONResponse(plain(drawn))
    unit = asked.words.formats.label(options[0].speed.unit, "speed_unit") if options else ""
    front = [item.rank for item in answer.pareto]
    return JSONResponse(plain(pareto_chart(options, front, theme, language, text, unit=unit)))
