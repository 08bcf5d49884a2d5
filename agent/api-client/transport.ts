/** Connections to one server: TLS, proxy, and a new handshake whenever the client certificate changes. */
import type { Dispatcher } from 'undici';
import type { CertificatePair } from '#api/client-config/exec-credential.ts';
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';

export interface TransportTerms {
  /** PEM; undefined selects the CAs of the system. */
  readonly authority?: string | undefined;
  readonly serverName?: string | undefined;
  readonly insecure?: boolean;
  readonly proxyUrl?: string | undefined;
  readonly certificate?: CertificatePair | undefined;
  /** Maximum number of connections. Default 16: each watch occupies one. */
  readonly connections?: number;
  /** Multiplex requests on one connection if the server supports HTTP/2, and otherwise use more connections:
   *  for clients with many watches. Default false. */
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

/** Returns the proxy authorization header for the credentials in the proxy URL. */
function proxyLogin(proxy: URL): { readonly token?: string } {
  if (proxy.username === '') return {};
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { token: `Basic ${Buffer.from(login).toString('base64')}` };
}

/** Creates a connection pool. The HTTP client is loaded on first use. */
export async function createDispatcher(terms: TransportTerms): Promise<Dispatcher> {
  const { Agent, ProxyAgent, Socks5ProxyAgent } = await import('undici');
  const tls = tlsTerms(terms);
  // No timeout between parts of a response: a watch may be idle for long.
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
  /** Fires when the connections are replaced: no new request uses them, and they close after the last one. */
  readonly retired: AbortSignal;
}

export interface Transport extends AsyncDisposable {
  /** Returns the connections for a client certificate, or without one. */
  connectionsFor(certificate: CertificatePair | undefined): Promise<Connections>;
}

interface Pool {
  readonly pair: CertificatePair | undefined;
  readonly connections: Promise<Connections>;
  readonly retire: AbortController;
}

/** Keeps the connections of the newest certificate. Older ones close after their last request in flight. */
export function createTransport(
  config: Pick<ResolvedClientConfig, 'tls' | 'proxyUrl'>,
  options: Pick<TransportTerms, 'multiplex' | 'connections'> = {},
): Transport {
  let current: Pool | undefined;
  const retired = new Set<Pool>();
  const superseded = new WeakSet<CertificatePair>();

  async function retire(pool: Pool): Promise<void> {
    retired.add(pool);
    if (pool.pair !== undefined) superseded.add(pool.pair);
    pool.retire.abort(new Error('the certificate was renewed'));
    try {
      await (await pool.connections).dispatcher.close();
    } finally {
      retired.delete(pool);
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
      // A request that started before a renewal uses the newest certificate: superseded ones never return.
      const isOld = certificate !== undefined && superseded.has(certificate);
      if (current !== undefined && isOld) return current.connections;
      // Requests on these connections report their own failures.
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
