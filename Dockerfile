# docker build -t kagemusha .
# docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" --network none kagemusha synth patients.csv --schema patients.toml
# docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" --network host kagemusha studio /data
#
# Everything is read and written in /data, as the user who calls; nothing needs the network
# but the page of `studio`, which answers on this computer alone.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/kagemusha \
 && /opt/kagemusha/bin/pip install --no-cache-dir '.[eval,sign,annotate,studio,files]'

FROM python:3.13-slim
COPY --from=build /opt/kagemusha /opt/kagemusha
RUN useradd --create-home --uid 10001 kagemusha && mkdir /data && chown kagemusha /data
ENV PATH=/opt/kagemusha/bin:$PATH NUMBA_CACHE_DIR=/tmp/numba HOME=/tmp PYTHONUTF8=1
USER kagemusha
WORKDIR /data
ENTRYPOINT ["kagemusha"]
CMD ["--help"]
