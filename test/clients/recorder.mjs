// Starts a server over stdio and writes what it and its client say into a file: a line of JSON for each message, with what it came together with.
// Arguments: the file, then program and arguments of the server.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const [file, command, ...args] = process.argv.slice(2);
const note = (entry) => appendFileSync(file, `${JSON.stringify({ time: Date.now(), ...entry })}\n`);
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
note({ started: true });

/** Passes chunks on as they come, so that the client reads them as it would. */
function pass(from, to, who) {
  let left = '';
  from.on('data', (chunk) => {
    to.write(chunk);
    const lines = (left + chunk).split('\n');
    left = lines.pop();
    for (const line of lines) note({ from: who, message: JSON.parse(line) });
  });
}
pass(process.stdin, server.stdin, 'client');
pass(server.stdout, process.stdout, 'server');
process.stdin.on('end', () => server.stdin.end());
process.on('SIGTERM', () => server.kill());
server.on('exit', (code) => process.exit(code ?? 1));
