import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The answer of PostgreSQL to every connection while it replays its log after a crash, with SQLSTATE 57P03. */
function startingUp(): Buffer {
  const fields = ['SFATAL', 'VFATAL', 'C57P03', 'Mthe database system is starting up'];
  const body = Buffer.from(`${fields.map((field) => `${field}\0`).join('')}\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** An address of a database that is starting up until it is `recovered`. */
export async function startRecoveringPostgres(address: string) {
  const sockets = new Set<Socket>();
  let isRecovered = false;
  const server = createServer((near) => {
    sockets.add(near);
    near.on('error', () => undefined).on('close', () => sockets.delete(near));
    if (!isRecovered) {
      near.once('data', () => near.end(startingUp()));
      return;
    }
    const far = connect(Number(new URL(address).port), '127.0.0.1');
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.on('close', () => far.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: Object.assign(new URL(address), { port }).href,
    recovered: () => {
      isRecovered = true;
    },
    /** Ends all connections, like a crash. */
    crash: () => {
      isRecovered = false;
      for (const socket of sockets) socket.destroy();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
