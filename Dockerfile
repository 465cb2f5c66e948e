# Serves a team over HTTP: docs/DEPLOY.md says how. Pin both images by digest where you build.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
COPY scripts scripts
COPY src src
COPY sandbox sandbox
COPY ui ui
COPY examples examples
RUN ["npm", "run", "build"]

FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production
# Half of what V8 would take on a large machine for objects that live for one call.
ENV NODE_OPTIONS=--max-semi-space-size=32
# Nobody can write there. A journal in the container would be lost with it: without CLOUDOPS_JOURNAL, the server is not ready.
ENV XDG_STATE_HOME=/nonexistent
# The package file tells Node that these are modules. Nothing else is needed: libraries are in the bundle.
COPY LICENSE package.json ./
COPY --from=build /build/dist dist
# The image's user "node", as a number so that Kubernetes can tell that it is not root.
USER 1000:1000
LABEL org.opencontainers.image.title="cloudops-mcp" \
  org.opencontainers.image.description="MCP server that lets an AI agent read and operate a cloud through signed API operations" \
  org.opencontainers.image.source="https://github.com/cloudops-mcp/cloudops-mcp" \
  org.opencontainers.image.licenses="Apache-2.0" \
  io.modelcontextprotocol.server.name="io.github.cloudops-mcp/cloudops-mcp"
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "/app/dist/main.js", "health"]
# V8's optimising compiler takes memory for the HTTP parser, which is WebAssembly, and makes it no faster. NODE_OPTIONS does not accept it.
# The path is absolute, so that `docker run -w` can give the folder in which the names of files are relative.
ENTRYPOINT ["node", "--liftoff-only", "/app/dist/main.js"]
CMD ["http", "--host", "0.0.0.0", "--port", "8080"]
