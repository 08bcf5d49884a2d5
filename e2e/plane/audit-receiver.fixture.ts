/** A receiver of audit events in a process of its own, for tests: `node audit-receiver.fixture.ts FOLDER`. It requires client
 *  certificates of `ca.pem`, appends each body to `received`, and responds to the next requests with the statuses in `statuses`, one per line, and to others with 200. The line `503 *` is
 *  for all later requests. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';

const folder = process.argv[2] ?? '';
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

/** Takes the next status of the file. */
function nextStatus(): number {
  const file = join(folder, 'statuses');
  if (!existsSync(file)) return 200;
  const [line = '200', ...rest] = readFileSync(file, 'utf8').split('\n');
  const [status, lasting] = line.split(' ');
  if (lasting === undefined) writeFileSync(file, rest.join('\n'));
  return Number(status) || 200;
}

const server = createServer(
  {
    ca: read('ca.pem'),
    cert: read('server.pem'),
    key: read('server.key'),
    requestCert: true,
    rejectUnauthorized: true,
  },
  (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const status = nextStatus();
      if (status === 200) appendFileSync(join(folder, 'received'), `${Buffer.concat(pieces).toString()}\n`);
      response.writeHead(status).end();
    });
  },
);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`);
});
