// Records the moving picture of README.md, docs/pictures/terminal.svg: real commands of the built server, on its sandbox, in a terminal
// that tmux makes. Run it after a build: node scripts/record-terminal.mjs
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { terminalPicture } from './terminal-picture.mjs';

const [columns, rows] = [96, 24];
const folder = mkdtempSync(join(tmpdir(), 'cloudops-record-'));
const bin = join(folder, 'bin');
mkdirSync(bin);
writeFileSync(join(bin, 'cloudops-mcp'), `#!/bin/sh\nexec ${process.execPath} ${resolve('dist/main.js')} "$@"\n`, {
  mode: 0o755,
});
const env = {
  PATH: `${bin}:${process.env.PATH}`,
  HOME: folder,
  LANG: 'C.UTF-8',
  PS1: '$ ',
  CLOUDOPS_SANDBOX: '1',
  CLOUDOPS_SANDBOX_SEED: 'README',
  CLOUDOPS_STORAGE_HEADERS: 'amz',
  TZ: 'UTC',
};
const tmux = (...args) =>
  execFileSync('tmux', ['-S', join(folder, 'socket'), '-f', '/dev/null', ...args], { env, encoding: 'utf8' });

const frames = [];
/** Takes a frame, or lets the last one stand longer. */
function take(ms) {
  const text = tmux('capture-pane', '-p', '-e');
  const last = frames.at(-1);
  if (last?.text === text) last.ms += ms;
  else frames.push({ text, ms });
}
const screen = () => tmux('capture-pane', '-p');

/** Types a text as a person does, in pieces, so that there are few frames. */
async function type(text) {
  for (const piece of text.match(/.{1,6}/g) ?? []) {
    tmux('send-keys', '-l', piece);
    await delay(150);
    take(140);
  }
  take(500);
  tmux('send-keys', 'Enter');
}

async function until(pattern) {
  for (let waited = 0; waited < 30_000; waited += 200) {
    if (pattern.test(screen().trimEnd())) return;
    await delay(200);
  }
  throw new Error(`The terminal does not show ${pattern}:\n${screen()}`);
}

const prompt = /\$$/;
const upload = '{"bucket": "demo-bucket", "object": "video/launch.mov", "uploadId": "demo-upload-without-parts"}';

try {
  tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), '--', 'sh', '-i');
  await until(prompt);
  await type(`cloudops-mcp call abort_multipart_upload '${upload}'`);
  await until(/type "video\/launch\.mov"/);
  take(4500);
  // A person reads for more than a second.
  await delay(1500);
  await type('video/launch.mov');
  await until(/was aborted[\s\S]*\$$/);
  take(3500);
  await type('cloudops-mcp journal');
  await until(/accepted[\s\S]*\$$/);
  take(6000);
  const title = 'A terminal: a plan, the question, the typed name, the outcome, and the journal';
  writeFileSync('docs/pictures/terminal.svg', terminalPicture({ frames, columns, rows, title }));
} finally {
  try {
    tmux('kill-server');
  } catch {
    // It ended by itself.
  }
  rmSync(folder, { recursive: true, force: true });
}
