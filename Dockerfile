# The dashboard for a network on which everyone may use this machine; docs/dashboard.md says how to run it.
FROM python:3.11.14-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY simulator simulator
COPY scenarios scenarios
COPY calibration calibration
COPY engine engine
COPY app app
RUN python -m venv /opt/specfleet && \
  /opt/specfleet/bin/python -m pip install --no-cache-dir --disable-pip-version-check -c constraints.txt '.[app]'

FROM python:3.11.14-slim-bookworm
RUN useradd --uid 10001 --create-home specfleet
COPY --from=build /opt/specfleet /opt/specfleet
ENV PATH=/opt/specfleet/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /home/specfleet
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["specfleet", "dashboard", "--address", "0.0.0.0", "--port", "8501", "--no-browser"]
