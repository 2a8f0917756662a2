# Wisp in a container that holds the project and nothing else.
#
#   docker build -t wisp .
#   docker run --rm -it -v "$PWD:/work" -e ANTHROPIC_API_KEY wisp -p "explain this project"
#
# The container is the box: bubblewrap needs rights that a container does not have by default, so commands run
# with the rights of the container's user. Mount only what Wisp may change, and give it no socket of Docker's.
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir build==1.3.0 && python -m build --wheel --outdir /dist

FROM python:3.13-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends git ripgrep \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 wisp
COPY --from=build /dist/*.whl /tmp/
RUN pip install --no-cache-dir /tmp/*.whl && rm /tmp/*.whl
USER wisp
ENV WISP_HOME=/home/wisp/.wisp
VOLUME ["/home/wisp/.wisp"]
WORKDIR /work
ENTRYPOINT ["wisp"]
