/** Node server: TLS with authentication and authorization on one port, and an optional read-only port without
 *  them.
 *  Source: node API, document 3 §4.3 and §5; upstream's node server. */
import { constants, type X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { SecureContextOptions } from 'node:tls';
import { TLSSocket } from 'node:tls';
import type { Logger } from '#api/kit/logger.ts';
import { isFromForeignPage } from '#api/kit/sockets/origin.ts';
import { CIPHER_SUITES } from '#api/pki/cipher-suites.ts';
import { nodeTlsVersion, opensslSuite, type TlsVersionName } from '#api/pki/suite-names.ts';
import type { TlsSource } from '../../certs/tls-source.ts';
import { listenAt } from '../../node/start-fault.ts';
import type { AgentHealth } from '../health.ts';
import { type AccessOptions, type Credentials, createAdmit } from './access.ts';
import { type ContainerDeps, containerEndpoints } from './container-endpoints.ts';
import { debugFlagsEndpoint } from './debug-flags.ts';
import { type NodeEndpoint, text } from './endpoint.ts';
import { healthzEndpoint } from './healthz.ts';
import { localVolumesEndpoint, type ProvisionedVolumes } from './local-volumes.ts';
import { type MetricsDeps, metricsEndpoint } from './metrics.ts';
import { type PodsDeps, podsEndpoint, runningPodsEndpoint } from './pods.ts';
import { profilesEndpoint } from './profiles.ts';
import type { Reviews } from './reviews.ts';
import { attach, LIMITS, type Listening, listen, type ServeDeps } from './serve.ts';
import { cpuAndMemory } from './stats/cpu-and-memory.ts';
import { withWholeSeconds } from './stats/sample-time.ts';
import { systemLogsEndpoint } from './system-logs.ts';
import { userOfCertificate } from './users.ts';

export interface NodeServerDeps extends PodsDeps, ContainerDeps, MetricsDeps {
  readonly log: Logger;
  readonly tls: TlsSource;
  readonly health: AgentHealth;
  /** PEM of the client CAs, with change notifications. Absent: client certificates are ignored. */
  readonly clientAuthorities: (TextSource & { readonly text: () => string }) | undefined;
  /** Volumes for claims of the API server. Absent without one. */
  readonly localVolumes: ProvisionedVolumes | undefined;
  /** Absent without an API server. */
  readonly reviews: Reviews | undefined;
  /** The effective configuration. */
  readonly configz: () => unknown;
  /** Changes the log verbosity. Absent if it cannot be changed. */
  readonly setVerbosity?: ((verbosity: number) => void) | undefined;
}

interface TextSource {
  readonly onChange: (listener: () => void) => () => void;
}

export interface NodeServerOptions {
  readonly address: string;
  readonly port: number;
  /** 0 disables the port. */
  readonly readOnlyPort: number;
  readonly nodeName: string;
  /** Name prefix of the agent's own metrics. */
  readonly metricsPrefix: string;
  readonly access: Omit<AccessOptions, 'certificates'>;
  /** Names as configured; empty selects the default suites. */
  readonly cipherSuites: readonly string[];
  readonly minVersion: TlsVersionName;
  readonly debuggingHandlers: boolean;
  readonly profilingHandler: boolean;
  readonly debugFlagsHandler: boolean;
  /** Directory served at `/logs/`; undefined disables the endpoint. */
  readonly systemLogs: string | undefined;
  /** Idle timeout of streaming connections, in ms; 0 disables it. */
  readonly streamIdleMs: number;
}

export interface NodeServer {
  readonly port: number;
  /** 0 if the port is disabled. */
  readonly readOnlyPort: number;
  close(): Promise<void>;
}

const DEBUG_NAMES = [
  'run',
  'exec',
  'attach',
  'portForward',
  'containerLogs',
  'runningpods',
  'configz',
  'logs',
];

/** Endpoints of both ports. */
function openEndpoints(deps: NodeServerDeps, options: NodeServerOptions): readonly NodeEndpoint[] {
  const { nodeName, metricsPrefix: prefix } = options;
  return [
    healthzEndpoint(deps.health),
    podsEndpoint(deps),
    {
      name: 'stats/summary',
      methods: ['GET', 'POST'],
      async handle({ query }) {
        const isShort = /^(?:1|t|true)$/i.test(query.get('only_cpu_and_memory') ?? '');
        const summary = await deps.collect('rates');
        return { kind: 'json', value: withWholeSeconds(isShort ? cpuAndMemory(summary) : summary) };
      },
    },
    metricsEndpoint(deps, { nodeName, prefix }),
  ];
}

const disabled = (name: string, message: string): NodeEndpoint => ({
  name,
  methods: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'],
  handle: () => text(`${message}\n`, 405),
});

function debugEndpoints(deps: NodeServerDeps, options: NodeServerOptions): readonly NodeEndpoint[] {
  if (!options.debuggingHandlers) {
    return [...DEBUG_NAMES, 'debug'].map((name) => disabled(name, 'Debug endpoints are disabled.'));
  }
  return [
    ...containerEndpoints(deps),
    runningPodsEndpoint(deps),
    { name: 'configz', methods: ['GET'], handle: () => ({ kind: 'json', value: deps.configz() }) },
    options.systemLogs === undefined
      ? disabled('logs', 'logs endpoint is disabled.')
      : systemLogsEndpoint(options.systemLogs),
    options.profilingHandler
      ? profilesEndpoint(process.argv)
      : disabled('debug/pprof', 'profiling endpoint is disabled.'),
    options.debugFlagsHandler && deps.setVerbosity !== undefined
      ? debugFlagsEndpoint(deps.setVerbosity)
      : disabled('debug/flags', 'flags endpoint is disabled.'),
  ];
}

const isValidNow = ({ validFrom, validTo }: X509Certificate): boolean =>
  Date.parse(validFrom) <= Date.now() && Date.now() <= Date.parse(validTo);

function bearerToken(authorization: string | undefined): string | undefined {
  const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  return token === undefined || token === '' ? undefined : token;
}

/** Returns the credentials of a request; TLS has verified the certificate against the client CAs. */
function credentialsOf({ socket, headers }: IncomingMessage): Credentials {
  // A browser sends its client certificate with a WebSocket of any page.
  const isMeant =
    headers.upgrade?.toLowerCase() !== 'websocket' || !isFromForeignPage(headers.origin, headers.host);
  const certificate = isMeant && socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  return {
    bearerToken: bearerToken(headers.authorization),
    certificate:
      certificate === undefined
        ? undefined
        : {
            // A connection may outlive the validity of its certificate.
            isTrusted: socket instanceof TLSSocket && socket.authorized && isValidNow(certificate),
            user: userOfCertificate(certificate),
          },
  };
}

/** @throws Error naming an unknown cipher suite */
function contextOf(
  { tls, clientAuthorities }: NodeServerDeps,
  { cipherSuites, minVersion }: NodeServerOptions,
): SecureContextOptions {
  const { certificate, key } = tls.current();
  const ciphers = cipherSuites.map((name) => {
    const suite = opensslSuite(name);
    if (suite === undefined) throw new Error(`cipher suite ${name} is unknown`);
    return suite;
  });
  return {
    cert: certificate,
    key,
    minVersion: nodeTlsVersion(minVersion),
    ciphers: ciphers.length === 0 ? CIPHER_SUITES : ciphers.join(':'),
    ...(clientAuthorities === undefined ? {} : { ca: clientAuthorities.text() }),
    // A resumed session has no client certificate.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

async function serveSecurely(deps: NodeServerDeps, options: NodeServerOptions): Promise<Listening> {
  const { createServer } = await import('node:https');
  const { log, tls, clientAuthorities, reviews } = deps;
  const certificates = clientAuthorities !== undefined;
  const server = createServer({
    ...LIMITS,
    ...contextOf(deps, options),
    // The access check decides by certificate; a handshake without one succeeds.
    requestCert: certificates,
    rejectUnauthorized: false,
    handshakeTimeout: 10_000,
    sessionTimeout: 1,
  });
  const serving: ServeDeps = {
    log,
    endpoints: [
      ...openEndpoints(deps, options),
      ...(deps.localVolumes === undefined ? [] : [localVolumesEndpoint(deps.localVolumes)]),
      ...debugEndpoints(deps, options),
    ],
    admit: createAdmit({ log, reviews }, { ...options.access, certificates }),
    credentials: credentialsOf,
    streamIdleMs: options.streamIdleMs,
  };
  attach(server, serving);
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  const { address, port } = options;
  const place = { portFlag: '--port', addressFlag: '--address', address, port };
  const listening = await listenAt(place, () => listen(server, address, port, log));
  const renew = (): void => {
    try {
      server.setSecureContext(contextOf(deps, options));
      log.info({}, 'Certificates of the server reloaded');
    } catch (err) {
      log.warn({ err }, 'Failed to reload certificates of the server');
    }
  };
  const closing = new AbortController();
  const endings = [tls.onChange(renew), clientAuthorities?.onChange(renew)];
  const keeping = tls.run(closing.signal);
  return {
    port: listening.port,
    async close() {
      for (const end of endings) end?.();
      closing.abort(new Error('server is stopping'));
      await Promise.all([keeping, listening.close()]);
    },
  };
}

/** Anyone on the network can connect; serves only read-only endpoints. */
async function serveReadOnly(deps: NodeServerDeps, options: NodeServerOptions): Promise<Listening> {
  const { createServer } = await import('node:http');
  const server = createServer(LIMITS);
  attach(server, {
    log: deps.log,
    endpoints: openEndpoints(deps, options),
    credentials: () => ({ certificate: undefined, bearerToken: undefined }),
    streamIdleMs: options.streamIdleMs,
  });
  const { address, readOnlyPort: port } = options;
  const place = { portFlag: '--read-only-port', addressFlag: '--address', address, port };
  return listenAt(place, () => listen(server, address, port, deps.log));
}

/** @throws Error for invalid settings, or an address in use */
export async function startNodeServer(deps: NodeServerDeps, options: NodeServerOptions): Promise<NodeServer> {
  const secure = await serveSecurely(deps, options);
  let open: Listening | undefined;
  try {
    if (options.readOnlyPort > 0) open = await serveReadOnly(deps, options);
  } catch (thrown) {
    await secure.close();
    throw thrown;
  }
  const { port } = secure;
  deps.log.info(
    { address: options.address, port, readOnlyPort: options.readOnlyPort },
    'Node server started',
  );
  return {
    port,
    readOnlyPort: open?.port ?? 0,
    async close() {
      await Promise.all([secure.close(), open?.close()]);
    },
  };
}
