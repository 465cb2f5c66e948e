declare module 'dynalite' {
  import type { Server } from 'node:http';

  /** A server of DynamoDB's API, with its data in memory. Times in milliseconds. */
  export default function dynalite(options: { createTableMs?: number; deleteTableMs?: number }): Server;
}
