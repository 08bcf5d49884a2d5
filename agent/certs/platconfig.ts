/** Formats client configurations that the agent writes. Pure. Source: clientconfig/v1. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';

export type PlatconfigUser =
  | { readonly token: string }
  /** Path of the file with certificate and key. */
  | { readonly pairFile: string };

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Returns a configuration for the same server with another user. JSON, which is valid YAML. */
export function formatPlatconfig(
  { server, tls, proxyUrl }: Pick<ResolvedClientConfig, 'server' | 'tls' | 'proxyUrl'>,
  user: PlatconfigUser,
): string {
  const { authority, serverName, insecure } = tls;
  const cluster = {
    server,
    ...(authority === undefined ? {} : { 'certificate-authority-data': base64(authority) }),
    ...(serverName === undefined ? {} : { 'tls-server-name': serverName }),
    ...(insecure ? { 'insecure-skip-tls-verify': true } : {}),
    ...(proxyUrl === undefined ? {} : { 'proxy-url': proxyUrl }),
  };
  const credentials =
    'token' in user
      ? { token: user.token }
      : { 'client-certificate': user.pairFile, 'client-key': user.pairFile };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'default', cluster }],
    users: [{ name: 'node', user: credentials }],
    contexts: [{ name: 'default', context: { cluster: 'default', user: 'node' } }],
    'current-context': 'default',
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
