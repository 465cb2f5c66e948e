// A bare MCP server over HTTP on the same MCP SDK. Its list_parts makes the same request with the AWS SDK, but has no checks,
// limits or journal. node http-peer.mjs <port> <endpoint>
import { createServer } from 'node:http';
import { ListPartsCommand, S3Client } from '@aws-sdk/client-s3';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

const [port, endpoint] = process.argv.slice(2);
const credentials = { accessKeyId: 'AKIDBENCH', secretAccessKey: 'bench' };
const client = new S3Client({ endpoint, region: 'jp-east-1', credentials, forcePathStyle: true });
const inputSchema = z.object({ bucket: z.string(), object: z.string(), uploadId: z.string() });

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'peer', version: '1' });
  server.registerTool('list_parts', { inputSchema }, async ({ bucket, object, uploadId }) => {
    const { Parts } = await client.send(new ListPartsCommand({ Bucket: bucket, Key: object, UploadId: uploadId }));
    return { content: [{ type: 'text', text: JSON.stringify(Parts) }] };
  });
  return server;
});
createServer(toNodeHandler(handler)).listen(Number(port), '127.0.0.1');
