// Starts @vercel/cosmosdb-server without TLS and with keep-alive, as the driver measures the others.
const { createHttpServer } = require("@vercel/cosmosdb-server");

const server = createHttpServer({ keepAlive: true }).listen(0, "127.0.0.1", () => {
  console.log(`ready endpoint=http://127.0.0.1:${server.address().port}/`);
});
process.on("SIGTERM", () => process.exit(0));
