# The first stage builds the wheel (with the browser files) and a complete environment; the second only runs it.
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/cardworth \
    && /opt/cardworth/bin/pip install --no-cache-dir --require-hashes -r requirements-postgres.lock \
    && pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && /opt/cardworth/bin/pip install --no-cache-dir --no-deps /wheels/*.whl

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /data --create-home cardworth
COPY --from=build /opt/cardworth /opt/cardworth
ENV PATH=/opt/cardworth/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    CARDWORTH_HOST=0.0.0.0 \
    CARDWORTH_PORT=8000 \
    CARDWORTH_DATABASE_URL=sqlite:////data/cardworth.db
USER cardworth
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"CARDWORTH_PORT\"]}/healthz', timeout=4)"]
CMD ["sh", "-c", "cardworth migrate && exec cardworth serve"]
