/** A receiver of audit events in a process of its own, for tests: `node audit-receiver.fixture.ts FOLDER`. It requires client
 *  certificates of `ca.pem`, appends each body to `received`, and responds with the status in `status` if there is one. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';

const folder = process.argv[2] ?? '';
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

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
      const status = existsSync(join(folder, 'status')) ? Number(read('status')) : 200;
      if (status === 200) appendFileSync(join(folder, 'received'), `${Buffer.concat(pieces).toString()}\n`);
      response.writeHead(status).end();
    });
  },
);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`);
});
