/** Starts the authorization webhook of `access-webhook-program.ts`, with certificates for mutual TLS. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import type { Json } from './support.ts';

export interface SeenReview {
  /** Common name of the client's certificate. */
  readonly client: string;
  readonly path: string;
  readonly review: Json & { readonly spec: Json };
}

export interface AccessWebhook extends AsyncDisposable {
  /** Client configuration file for the API server. */
  readonly configFile: string;
  /** Sets the status of the response for each user, or an HTTP status; others get no opinion. */
  decide(decisions: Readonly<Record<string, Json | number>>): Promise<void>;
  /** Received reviews about the user. */
  reviewsOf(user: string): Promise<readonly SeenReview[]>;
  /** Ends the process. */
  stop(): Promise<void>;
}

const DAY_MS = 86_400_000;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** @param folder for its files, which the caller removes */
export async function startAccessWebhook(folder: string): Promise<AccessWebhook> {
  const term = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const authority = createAuthority({ commonName: 'authority' }, term.notBefore, term.notAfter);
  const serving = issueIdentity(authority, {
    subject: { commonName: 'hook' },
    ipAddresses: ['127.0.0.1'],
    extendedUsages: ['serverAuth'],
    ...term,
  });
  const client = issueIdentity(authority, {
    subject: { commonName: 'the-api-server' },
    extendedUsages: ['clientAuth'],
    ...term,
  });
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  await Promise.all([
    write('server.pem', serving.certificate),
    write('server.key', serving.key),
    write('clients.pem', authority.certificate),
    write('reviews', ''),
    write('decisions.json', '{}'),
  ]);
  const program = join(import.meta.dirname, 'access-webhook-program.ts');
  const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  const configFile = join(folder, 'webhook.config');
  const server = `https://127.0.0.1:${port.toString().trim()}/authorize`;
  await writeFile(
    configFile,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'c', cluster: { server, 'certificate-authority-data': base64(authority.certificate) } },
      ],
      users: [
        {
          name: 'u',
          user: {
            'client-certificate-data': base64(client.certificate),
            'client-key-data': base64(client.key),
          },
        },
      ],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    await once(child, 'exit');
  }
  return {
    configFile,
    decide: (decisions) => write('decisions.json', JSON.stringify(decisions)),
    async reviewsOf(user) {
      const lines = (await readFile(join(folder, 'reviews'), 'utf8'))
        .split('\n')
        .filter((line) => line !== '');
      return lines
        .map((line) => JSON.parse(line) as SeenReview)
        .filter(({ review }) => review.spec['user'] === user);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
