/** Token webhook as a process, over mutual TLS. A token says which reply it gets: `reply.` and, as base64url of JSON, a
 *  list of replies, of which each attempt gets the next and then the last. `GET` returns what was received,
 *  and the most reviews at once. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { readInput } from './program-input.ts';

interface Input {
  readonly port: number;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Reply {
  /** Default: 200. */
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Status of the TokenReview. */
  readonly status?: object;
  /** Members instead of those of the request. */
  readonly review?: object;
  /** Body instead of a TokenReview. */
  readonly text?: string;
  /** Closes the connection. */
  readonly reset?: boolean;
  readonly delayMs?: number;
}

interface Review {
  readonly apiVersion: string;
  readonly spec: { readonly token: string };
}

const { port, ...tls } = (await readInput()) as Input;
const reviews: Review[] = [];
let active = 0;
let most = 0;

function replyOf({ spec: { token } }: Review): Reply {
  const [prefix, encoded = ''] = token.split('.');
  if (prefix !== 'reply') return { status: { authenticated: false } };
  const replies = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as readonly Reply[];
  const attempt = reviews.filter((each) => each.spec.token === token).length;
  return replies[Math.min(attempt, replies.length) - 1] ?? {};
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const review = (await json(request)) as Review;
  reviews.push(review);
  active += 1;
  most = Math.max(most, active);
  const reply = replyOf(review);
  if (reply.delayMs !== undefined) await pause(reply.delayMs);
  active -= 1;
  if (reply.reset === true) {
    request.socket.destroy();
    return;
  }
  response.writeHead(reply.code ?? 200, { 'content-type': 'application/json', ...reply.headers });
  response.end(reply.text ?? JSON.stringify({ ...review, status: reply.status ?? {}, ...reply.review }));
}

createServer({ ...tls, requestCert: true, rejectUnauthorized: true }, (request, response) => {
  if (request.method === 'GET') response.end(JSON.stringify({ reviews, most }));
  else void respond(request, response);
}).listen(port, '127.0.0.1', () => process.stdout.write('listening\n'));
