// Starts a server over stdio for a client that can ask its user, and hides from it that the client can: Claude Desktop and others
// declare views without questions. Arguments: program and arguments of the server.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'] });
server.on('exit', (code) => process.exit(code ?? 1));
process.on('SIGTERM', () => server.kill());
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const message = JSON.parse(line);
  delete message.params?.capabilities?.elicitation;
  server.stdin.write(`${JSON.stringify(message)}\n`);
});
lines.on('close', () => server.stdin.end());
