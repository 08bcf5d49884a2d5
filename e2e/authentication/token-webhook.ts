/** Token webhook of the tests: a process of its own, over mutual TLS. */
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { freePort } from '../../testing/free-port.ts';
import { type Child, startChild } from './child.ts';
import { authority, clientOf, serverOf } from './pki.ts';
import type { Reply } from './token-webhook.program.ts';

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: { readonly token: string; readonly audiences?: readonly string[] };
}

export interface TokenWebhook extends AsyncDisposable {
  /** Client configuration for the API server, with its certificate. */
  readonly configFile: string;
  /** Returns the reviews of a token, or of all. */
  reviews(token?: string): Promise<readonly Review[]>;
  /** Returns the most reviews at once. */
  mostAtOnce(): Promise<number>;
}

/** Returns a token that the webhook replies so, one reply for each attempt. `name` makes it another token. */
export const tokenFor = (replies: Reply | readonly Reply[], name = ''): string =>
  `reply.${Buffer.from(JSON.stringify([replies].flat())).toString('base64url')}.${name}`;

export async function startTokenWebhook(dir: string): Promise<TokenWebhook> {
  const port = await freePort();
  const ca = authority('webhook-ca');
  const server = serverOf(ca);
  const client = clientOf(ca, 'api-server');
  const child: Child = await startChild('token-webhook.program.ts', {
    port,
    ca: ca.certificate,
    cert: server.certificate,
    key: server.key,
  });
  const files = {
    'webhook-ca.pem': ca.certificate,
    'webhook.pem': client.certificate,
    'webhook.key': client.key,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(`${dir}/${name}`, text);
  const configFile = `${dir}/token-webhook.conf`;
  const url = `https://127.0.0.1:${port}`;
  await writeFile(
    configFile,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'c', cluster: { server: `${url}/review`, 'certificate-authority': 'webhook-ca.pem' } },
      ],
      users: [{ name: 'u', user: { 'client-certificate': 'webhook.pem', 'client-key': 'webhook.key' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const agent = new Agent({
    connect: { ca: ca.certificate, cert: client.certificate, key: client.key },
  });
  async function received(): Promise<{ readonly reviews: readonly Review[]; readonly most: number }> {
    const { body } = await request(url, { dispatcher: agent });
    return (await body.json()) as Awaited<ReturnType<typeof received>>;
  }
  return {
    configFile,
    async reviews(token) {
      const { reviews } = await received();
      return token === undefined ? reviews : reviews.filter(({ spec }) => spec.token === token);
    },
    mostAtOnce: async () => (await received()).most,
    async [Symbol.asyncDispose]() {
      await agent.destroy();
      await child.stop();
    },
  };
}
