/** Authenticating proxy as a process: knows its users by password, and forwards their requests with its certificate and
 *  their names, groups and extra information in headers. */
import { createServer, request as forward } from 'node:https';
import { readInput } from './program-input.ts';

export interface ProxyUser {
  readonly name: string;
  readonly groups: readonly string[];
  /** By the encoded name after the prefix. */
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

interface Input {
  readonly port: number;
  readonly cert: string;
  readonly key: string;
  readonly target: string;
  /** CA of the target. */
  readonly ca: string;
  /** Identity of the proxy towards the target. */
  readonly client: { readonly cert: string; readonly key: string };
  /** By password. */
  readonly users: Readonly<Record<string, ProxyUser>>;
}

const { port, cert, key, target, ca, client, users } = (await readInput()) as Input;

/** Names and values, several of the same name included. */
function headersOf({ name, groups, extra }: ProxyUser): string[] {
  return [
    'X-Remote-User',
    name,
    ...groups.flatMap((group) => ['X-Remote-Group', group]),
    ...Object.entries(extra).flatMap(([each, values]) =>
      values.flatMap((value) => [`X-Remote-Extra-${each}`, value]),
    ),
  ];
}

createServer({ cert, key }, (request, response) => {
  const [, credentials = ''] = (request.headers.authorization ?? '').split(' ');
  const [, password = ''] = Buffer.from(credentials, 'base64').toString().split(':');
  const user = users[password];
  if (user === undefined) {
    response.writeHead(407).end();
    return;
  }
  const sent = forward(
    new URL(request.url ?? '/', target),
    {
      ca,
      ...client,
      method: request.method,
      headers: [
        'Host',
        new URL(target).host,
        'Content-Type',
        request.headers['content-type'] ?? 'application/json',
        ...headersOf(user),
      ],
    },
    (reply) => {
      response.writeHead(reply.statusCode ?? 502, { 'content-type': reply.headers['content-type'] });
      reply.pipe(response);
    },
  );
  sent.on('error', () => response.writeHead(502).end());
  request.pipe(sent);
}).listen(port, '127.0.0.1', () => process.stdout.write('listening\n'));
