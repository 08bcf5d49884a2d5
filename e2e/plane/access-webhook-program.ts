/** Authorization webhook for tests, a process of its own: `access-webhook-program.ts <folder>`. Requires a client
 *  certificate. Responds as `decisions.json` of the folder says, by user, and appends each review to `reviews`. */
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';

const [folder = '.'] = process.argv.slice(2);
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

const server = createServer(
  {
    cert: read('server.pem'),
    key: read('server.key'),
    ca: read('clients.pem'),
    requestCert: true,
    rejectUnauthorized: true,
  },
  (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(pieces).toString()) as {
        apiVersion: string;
        kind: string;
        spec: { user: string };
      };
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      appendFileSync(
        join(folder, 'reviews'),
        `${JSON.stringify({ client: subject.CN, path: request.url, review })}\n`,
      );
      const decisions = JSON.parse(read('decisions.json')) as Record<string, object | number | undefined>;
      const status = decisions[review.spec.user] ?? { allowed: false };
      response.statusCode = typeof status === 'number' ? status : 200;
      response.setHeader('content-type', 'application/json');
      const { apiVersion, kind } = review;
      response.end(JSON.stringify({ apiVersion, kind, status }));
    });
  },
);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
