# Two images: `api` without TensorFlow, `worker` with TensorFlow and CUDA. Both are installed by the script of `make env`
# from lock files with the same versions as the tests use. How to run them: docs/docker.md.

FROM python:3.11.14-slim-bookworm AS environment
WORKDIR /app
COPY scripts/make-env scripts/
COPY requirements-bootstrap.lock ./
# Compile bytecode now: the image's user cannot write it, and without it every attempt needs seconds more for imports.
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy

FROM environment AS api-environment
COPY requirements-api.lock ./
RUN --mount=type=cache,target=/root/.cache \
    scripts/make-env requirements-api.lock .venv/.installed-requirements-api.lock \
    && .venv/bin/python -m pip uninstall --quiet --yes --root-user-action=ignore uv wheel setuptools pip

FROM environment AS worker-environment
ARG LOCK=requirements-gpu.lock
COPY ${LOCK} ./
RUN --mount=type=cache,target=/root/.cache \
    scripts/make-env "$LOCK" ".venv/.installed-$LOCK" \
    && .venv/bin/python -m pip uninstall --quiet --yes --root-user-action=ignore uv pip

FROM python:3.11.14-slim-bookworm AS runtime
# The same user id in both images, because they share /data. /data is the home folder too: CUDA caches kernels there.
RUN groupadd --gid 10001 downshift \
    && useradd --uid 10001 --gid downshift --home-dir /data --no-create-home --shell /usr/sbin/nologin downshift \
    && install --directory --owner downshift --group downshift --mode 0700 /data
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DOWNSHIFT_HOME=/data
WORKDIR /app

# The environment before the sources: a change of code must not copy gigabytes again.
FROM runtime AS api
COPY --from=api-environment /app/.venv .venv
COPY migrations migrations
COPY services services
COPY api api
ENV DOWNSHIFT_BIND=0.0.0.0:8080
EXPOSE 8080
VOLUME /data
USER 10001:10001
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
CMD ["python", "-m", "api"]

FROM runtime AS worker
COPY --from=worker-environment /app/.venv .venv
COPY migrations migrations
COPY services services
COPY worker worker
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
VOLUME /data
USER 10001:10001
HEALTHCHECK --interval=30s --timeout=20s --start-period=60s --retries=3 CMD ["python", "-m", "worker.health"]
CMD ["python", "-m", "worker"]
