/** Token webhook as a process, over mutual TLS. A token says how it is answered: `answer.` and, as base64url of JSON, a
 *  list of answers, of which each attempt gets the next and then the last. `GET` returns what was received,
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

export interface Answer {
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

function answerOf({ spec: { token } }: Review): Answer {
  const [prefix, encoded = ''] = token.split('.');
  if (prefix !== 'answer') return { status: { authenticated: false } };
  const answers = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as readonly Answer[];
  const attempt = reviews.filter((each) => each.spec.token === token).length;
  return answers[Math.min(attempt, answers.length) - 1] ?? {};
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const review = (await json(request)) as Review;
  reviews.push(review);
  active += 1;
  most = Math.max(most, active);
  const answer = answerOf(review);
  if (answer.delayMs !== undefined) await pause(answer.delayMs);
  active -= 1;
  if (answer.reset === true) {
    request.socket.destroy();
    return;
  }
  response.writeHead(answer.code ?? 200, { 'content-type': 'application/json', ...answer.headers });
  response.end(answer.text ?? JSON.stringify({ ...review, status: answer.status ?? {}, ...answer.review }));
}

createServer({ ...tls, requestCert: true, rejectUnauthorized: true }, (request, response) => {
  if (request.method === 'GET') response.end(JSON.stringify({ reviews, most }));
  else void respond(request, response);
}).listen(port, '127.0.0.1', () => process.stdout.write('listening\n'));
