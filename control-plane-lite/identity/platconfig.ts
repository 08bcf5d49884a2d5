/** Client configuration file for one server and one user. Pure. Source: clientconfig/v1; client
 *  configuration, document 2 §5.8. */
import type { Identity } from '#api/pki/certificate.ts';

export interface PlatconfigParts {
  readonly url: string;
  /** PEM of the CA that signed the server's certificate. */
  readonly authority: string;
  readonly client: Identity;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Returns JSON, which is YAML as well. */
export function formatPlatconfig({ url, authority, client }: PlatconfigParts): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'default', cluster: { server: url, 'certificate-authority-data': base64(authority) } },
    ],
    users: [
      {
        name: 'admin',
        user: {
          'client-certificate-data': base64(client.certificate),
          'client-key-data': base64(client.key),
        },
      },
    ],
    contexts: [{ name: 'default', context: { cluster: 'default', user: 'admin' } }],
    'current-context': 'default',
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
