/** Connects the agent to the API server: its certificate, and the clients that its parts share. */

import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { createListeners } from '#api/kit/listeners.ts';
import { createTokenBucket } from '#api/kit/token-bucket.ts';
import { type ApiClient, createApiClient } from '../../api-client/client.ts';
import { deferredClient } from '../../api-client/deferred-client.ts';
import { type Pace, pacedClient } from '../../api-client/paced-client.ts';
import type { ApiClientOptions } from '../../api-client/sender.ts';
import { isProtobufType, JSON_TYPE, type WireForm } from '../../api-client/wire-form.ts';
import { type ClientCertificates, openClientCertificates } from '../../certs/client-certificates.ts';
import { addCertificateMetric, createRequestMetrics } from '../../metrics/api-metrics.ts';
import { heartbeatTimeoutMs } from '../../registration/settings.ts';
import { AGENT_VERSION } from '../../version.ts';
import type { Base } from '../base.ts';

export interface ApiClients extends AsyncDisposable {
  /** Rate limited as configured. */
  readonly api: ApiClient;
  /** The same client for callers that use the rate limiter themselves. */
  readonly unpaced: ApiClient;
  readonly pace: Pace;
  /** Not rate limited, on its own connections, with a short timeout. */
  readonly heartbeat: ApiClient;
  /** Not rate limited: events have their own limit. Shares the connections of `api`. */
  readonly events: ApiClient;
  /** Credentials of the clients, once the agent has joined. */
  readonly clientConfig: Promise<ResolvedClientConfig>;
  /** Renews the certificate until the signal fires.
   *  @throws CertificateError if none can be obtained */
  run(signal: AbortSignal): Promise<void>;
}

/** One for the lease, one for the node status: a server has thousands of agents, and each connection costs it
 *  memory. */
const HEARTBEAT_CONNECTIONS = 2;

/** An agent that must first obtain a certificate does so in the background: other pods do not wait for it.
 *  @throws ClientConfigError, CertificateError */
export async function openApiClients(base: Base, stop: AbortSignal): Promise<ApiClients> {
  const { config, clock, log, node, vocabulary } = base;
  const deps = {
    clock,
    log,
    env: environment(),
    waits: base.waits,
    requested: createRequestMetrics(base.plainMetrics),
    hasTerminal: false,
    passOn: (chunk: Uint8Array) => void process.stderr.write(chunk),
  };
  const renewals = createRenewals();
  const userAgent = `${vocabulary.agentComponent}/${AGENT_VERSION}`;
  const opening = openClientCertificates(
    { ...deps, vocabulary, userAgent, renewed: renewals.notify },
    {
      nodeName: node,
      certDir: config.certDir,
      platconfig: config.platconfig,
      bootstrapConfig: config.bootstrapKubeconfig,
      rotate: config.rotateCertificates,
    },
    stop,
  );
  measureExpiry(base, opening, renewals);
  // Without a bootstrap there is nothing to wait for, and errors of the files are reported at once.
  if (config.bootstrapKubeconfig === '') await opening;
  const form = await wireForm(base);
  const bucket = createTokenBucket(clock, { ratePerSecond: config.platAPIQPS, burst: config.platAPIBurst });
  const pace = (signal: AbortSignal): Promise<void> => bucket.take(signal);
  const made: ApiClient[] = [];
  const client = (options: Omit<ApiClientOptions, 'userAgent'>): ApiClient => {
    const open = ({ clientConfig }: { readonly clientConfig: ResolvedClientConfig }): ApiClient =>
      createApiClient({ ...deps, onRenewed: renewals.onRenewed }, clientConfig, {
        userAgent,
        ...form,
        ...options,
      });
    const deferred = deferredClient(opening.then(open));
    made.push(deferred);
    return deferred;
  };
  const unpaced = client({ multiplex: true });
  return {
    api: pacedClient(unpaced, pace),
    unpaced,
    pace,
    heartbeat: client({ timeoutMs: heartbeatTimeoutMs(config), connections: HEARTBEAT_CONNECTIONS }),
    events: unpaced,
    clientConfig: opening.then(({ clientConfig }) => clientConfig),
    run: (signal) => keepFresh(opening, signal),
    async [Symbol.asyncDispose]() {
      await Promise.all(made.map((one) => one[Symbol.asyncDispose]()));
    },
  };
}

/** Reports the remaining validity of the certificate, also after renewals. */
function measureExpiry(
  { metrics, clock, log }: Base,
  opening: Promise<ClientCertificates>,
  renewals: Renewals,
): void {
  let known: number | undefined;
  const read = async (): Promise<void> => {
    try {
      known = await (await opening).notAfterMs();
    } catch (err) {
      log.debug({ err }, 'Validity of the client certificate not read');
    }
  };
  addCertificateMetric(metrics, 'client', { notAfterMs: () => known, nowMs: () => clock.now() });
  renewals.onRenewed(() => void read());
  void read();
}

interface Renewals {
  readonly notify: () => void;
  readonly onRenewed: (listener: () => void) => () => void;
}

/** Notifies the clients of a renewed certificate. */
function createRenewals(): Renewals {
  const listeners = createListeners('client certificate');
  return {
    notify: () => listeners.notify(),
    onRenewed(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Returns the encoding of all clients. Any content type but JSON and protobuf falls back to JSON. */
async function wireForm({ config, log, vocabulary }: Base): Promise<{ readonly protobuf?: WireForm }> {
  const { contentType } = config;
  if (!isProtobufType(contentType)) {
    if (contentType !== JSON_TYPE) {
      log.warn({ contentType }, 'Content type not supported; using JSON');
    }
    return {};
  }
  const { createApiProtobuf } = await import('#api/protobuf/api-protobuf.ts');
  return { protobuf: { contentType, codec: createApiProtobuf(vocabulary) } };
}

async function keepFresh(opening: Promise<ClientCertificates>, signal: AbortSignal): Promise<void> {
  try {
    await (await opening).run(signal);
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}

function environment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
