// Draws icon.png with 512 by 512 pixels. It shows a cloud with a tick on a rounded square. Run it with node scripts/icon.mjs
import { writeFileSync } from 'node:fs';
import { crc32, deflateSync } from 'node:zlib';

const size = 512;

// Distances to shapes in pixels, negative inside.
const circle = (x, y, cx, cy, radius) => Math.hypot(x - cx, y - cy) - radius;
function roundedBox(x, y, [left, top, right, bottom], radius) {
  const dx = Math.abs(x - (left + right) / 2) - (right - left) / 2 + radius;
  const dy = Math.abs(y - (top + bottom) / 2) - (bottom - top) / 2 + radius;
  return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - radius;
}
function segment(x, y, [ax, ay], [bx, by], width) {
  const along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2);
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay)) - width / 2;
}

const tile = (x, y) => roundedBox(x, y, [0, 0, size, size], 112);
const cloud = (x, y) =>
  Math.min(
    circle(x, y, 236, 222, 98),
    circle(x, y, 334, 272, 74),
    circle(x, y, 158, 278, 68),
    roundedBox(x, y, [158, 246, 334, 346], 0),
  );
const tick = (x, y) => Math.min(segment(x, y, [184, 262], [232, 310], 30), segment(x, y, [232, 310], [318, 214], 30));

const mix = (from, to, share) => from.map((value, index) => value + (to[index] - value) * share);
/** The share of a pixel that a shape covers. */
const cover = (distance) => Math.min(1, Math.max(0, 0.5 - distance));

function pixel(x, y) {
  const background = mix([37, 99, 235], [13, 42, 120], y / size);
  const colour = mix(mix(background, [255, 255, 255], cover(cloud(x, y))), [22, 163, 114], cover(tick(x, y)));
  return [...colour.map(Math.round), Math.round(255 * cover(tile(x, y)))];
}

const rows = Array.from({ length: size }, (_, y) => [
  0,
  ...Array.from({ length: size }, (_, x) => pixel(x + 0.5, y + 0.5)).flat(),
]);

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

const header = Buffer.alloc(13);
header.writeUInt32BE(size);
header.writeUInt32BE(size, 4);
header.set([8, 6], 8);
writeFileSync(
  new URL('../icon.png', import.meta.url),
  Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]),
);
