/** Connections to one server: TLS, proxy, and a new handshake whenever the client certificate is another. */
import type { Dispatcher } from 'undici';
import type { CertificatePair } from '#api/client-config/exec-credential.ts';
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';

export interface TransportTerms {
  /** PEM; undefined means the authorities of the system. */
  readonly authority?: string | undefined;
  readonly serverName?: string | undefined;
  readonly insecure?: boolean;
  readonly proxyUrl?: string | undefined;
  readonly certificate?: CertificatePair | undefined;
  /** Connections at once. Default 16: a watch keeps one busy. */
  readonly connections?: number;
  /** Many requests on one connection where the server can do so (HTTP/2), and more connections where it can not: for
   *  clients with many watches. Default false. */
  readonly multiplex?: boolean;
}

const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS = 16;
const CONNECTIONS_FOR_MANY = 256;

interface TlsTerms {
  readonly ca?: string;
  readonly servername?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly rejectUnauthorized: boolean;
  readonly timeout: number;
}

function tlsTerms({ authority, serverName, insecure, certificate }: TransportTerms): TlsTerms {
  return {
    ...(authority === undefined ? {} : { ca: authority }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(certificate === undefined ? {} : { cert: certificate.certificate, key: certificate.key }),
    rejectUnauthorized: insecure !== true,
    timeout: CONNECT_TIMEOUT_MS,
  };
}

/** A header that proves us to the proxy, from the login in its address. */
function proxyLogin(proxy: URL): { readonly token?: string } {
  if (proxy.username === '') return {};
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { token: `Basic ${Buffer.from(login).toString('base64')}` };
}

/** A pool of connections. The client is loaded when first used. */
export async function createDispatcher(terms: TransportTerms): Promise<Dispatcher> {
  const { Agent, ProxyAgent, Socks5ProxyAgent } = await import('undici');
  const tls = tlsTerms(terms);
  // No limits on the time between parts of an answer: a watch may be silent for long.
  const { multiplex: allowH2 = false } = terms;
  const connections = terms.connections ?? (allowH2 ? CONNECTIONS_FOR_MANY : CONNECTIONS);
  const common = { connections, bodyTimeout: 0, allowH2 };
  if (terms.proxyUrl === undefined) return new Agent({ ...common, connect: tls });
  const proxy = new URL(terms.proxyUrl);
  if (proxy.protocol === 'socks5:') return new Socks5ProxyAgent(proxy, { ...common, requestTls: tls });
  const login = proxyLogin(proxy);
  proxy.username = '';
  proxy.password = '';
  return new ProxyAgent({ ...common, uri: proxy.href, ...login, requestTls: tls });
}

export interface Connections {
  readonly dispatcher: Dispatcher;
  /** Fires when others take their place: no request begins on them any more, and they end with the last one. */
  readonly retired: AbortSignal;
}

export interface Transport extends AsyncDisposable {
  /** Connections that were made with a certificate, or without one. */
  connectionsFor(certificate: CertificatePair | undefined): Promise<Connections>;
}

interface Kept {
  readonly pair: CertificatePair | undefined;
  readonly connections: Promise<Connections>;
  readonly retire: AbortController;
}

/** Keeps the connections of the newest certificate. Those of the one before end with the requests under way. */
export function createTransport(
  config: Pick<ResolvedClientConfig, 'tls' | 'proxyUrl'>,
  options: Pick<TransportTerms, 'multiplex' | 'connections'> = {},
): Transport {
  let current: Kept | undefined;
  const retired = new Set<Kept>();
  const superseded = new WeakSet<CertificatePair>();

  async function retire(kept: Kept): Promise<void> {
    retired.add(kept);
    if (kept.pair !== undefined) superseded.add(kept.pair);
    kept.retire.abort(new Error('there is a newer certificate'));
    try {
      await (await kept.connections).dispatcher.close();
    } finally {
      retired.delete(kept);
    }
  }

  async function connect(
    certificate: CertificatePair | undefined,
    signal: AbortSignal,
  ): Promise<Connections> {
    const terms = { ...config.tls, ...options, proxyUrl: config.proxyUrl, certificate };
    return { dispatcher: await createDispatcher(terms), retired: signal };
  }

  return {
    connectionsFor(certificate) {
      if (current !== undefined && current.pair === certificate) return current.connections;
      // Whoever began to ask before a renewal asks with what is newest: there is no way back.
      const isOld = certificate !== undefined && superseded.has(certificate);
      if (current !== undefined && isOld) return current.connections;
      // Who still uses them is told by their failure.
      if (current !== undefined) retire(current).catch(() => undefined);
      const controller = new AbortController();
      const connections = connect(certificate, controller.signal);
      current = { pair: certificate, connections, retire: controller };
      return connections;
    },
    async [Symbol.asyncDispose]() {
      const all = [...retired, ...(current === undefined ? [] : [current])];
      current = undefined;
      await Promise.all(all.map(async ({ connections }) => (await connections).dispatcher.destroy()));
    },
  };
}
