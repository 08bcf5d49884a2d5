/** HTTP server over the core: endpoints, non-resource paths, limits, audit. */

import { readFile } from 'node:fs/promises';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { addAggregationMetrics } from '../aggregation/metrics.ts';
import { replacingLocal } from '../aggregation/replace-local.ts';
import { createContent } from '../content/content.ts';
import { createStatusEncoder } from '../content/plain.ts';
import type { ExtraGroup } from '../discovery/groups.ts';
import { createTokenIssuerRoutes } from '../discovery/token-issuer.ts';
import { createResourceHandler } from '../endpoints/resource-handler.ts';
import { createScaleMapping } from '../endpoints/scale-mapping.ts';
import type { ServingCertificate } from '../http/connection/listener.ts';
import type { Handler, PathRoute, RequestInfo } from '../http/contract.ts';
import { createHealth, type Health, type HealthCheck } from '../http/health/health.ts';
import { withWaits } from '../http/health/health-waits.ts';
import { addProcessMetrics, metricsRoute } from '../http/metrics/metrics.ts';
import { createImpersonation } from '../http/pipeline/impersonate.ts';
import { type ApiServer, createApiServer } from '../http/server.ts';
import type { ServerIdentity } from '../identity/files.ts';
import { createBuiltinSchema } from '../resources/builtin-schema.ts';
import { isKnown } from '../resources/registry.ts';
import type { Aggregation } from './aggregation.ts';
import { createAudit } from './audit.ts';
import { createComponents } from './components.ts';
import type { Core } from './core.ts';
import { descriptionRoutes } from './description.ts';
import { healthChecks } from './health-checks.ts';
import type { Nodes } from './nodes.ts';

export interface Server {
  readonly api: ApiServer;
  readonly health: Health;
  readonly metrics: MetricsRegistry;
  /** Must be called when the API server has stopped. */
  close(): Promise<void>;
}

export interface ServerParts {
  /** Further paths, of subsystems that are wired elsewhere. */
  readonly routes: readonly PathRoute[];
  readonly isReady: () => boolean;
  readonly metrics: MetricsRegistry;
  readonly changingChecks: () => readonly HealthCheck[];
  /** `host:port` advertised to clients. */
  readonly serverAddress: () => string;
  /** Groups of aggregated servers; absent: none. */
  readonly aggregation: Aggregation | undefined;
  /** Connect subresources of nodes and pods, and their metrics. */
  readonly nodes: Nodes;
}

const NO_GROUPS: readonly ExtraGroup[] = [];

/** @throws Error that names an unreadable file */
export async function createServer(core: Core, identity: ServerIdentity, more: ServerParts): Promise<Server> {
  const { config, vocabulary, clock, log, access } = core;
  const { aggregation, metrics } = more;
  const stopMeasuring = addProcessMetrics(metrics);
  if (aggregation !== undefined) addAggregationMetrics(metrics, aggregation.apis);
  const protobuf = createApiProtobuf(vocabulary);
  const health = createHealth(
    { clock, log },
    {
      checks: healthChecks(core, {
        cacheSynced: () => core.cache.synced,
        begun: more.isReady,
        aggregation: aggregation?.state,
      }),
      livezGraceMs: config.livezGracePeriod,
      changingChecks: more.changingChecks,
    },
  );
  const audit = await createAudit(core, metrics);
  const healthRoutes =
    core.waits === undefined
      ? health.routes
      : withWaits(health.routes, { waits: core.waits, now: () => clock.now() });
  const tokenIssuer = createTokenIssuerRoutes({
    issuer: core.accountTokens.issuerName,
    keys: core.accountTokens.keys,
    serverAddress: more.serverAddress,
  });
  const others = [...healthRoutes, metricsRoute(metrics), ...tokenIssuer, ...more.routes];
  const api = createApiServer(
    {
      clock,
      log,
      vocabulary,
      registry: metrics,
      authenticate: (request) => access.authenticator.authenticate(request),
      authorize: (attributes) => access.authorizer.authorize(attributes),
      impersonate: createImpersonation({
        authorize: (attributes) => access.authorizer.authorize(attributes),
        domain: vocabulary.apiGroupDomain,
      }),
      routes: [
        ...others,
        ...descriptionRoutes(core, {
          protobuf,
          serverAddress: more.serverAddress,
          extraGroups: () => aggregation?.extraGroups() ?? NO_GROUPS,
          others: aggregation?.documents,
          otherPaths: others.map(({ path }) => path),
        }),
      ],
      resources: resourceHandler(core, protobuf, more),
      isServed: (info: RequestInfo) => isKnown(core.registry, info) || aggregation?.serves(info) === true,
      encodeStatus: createStatusEncoder({ vocabulary, now: () => clock.now(), protobuf }),
      ...(audit === undefined ? {} : { audit: audit.auditor }),
    },
    {
      tls: await servingCertificate(core, identity),
      requestTimeoutMs: config.requestTimeout,
      maxConnectionsPerAddress: config.maxConnectionsPerAddress,
      inFlight: { readOnly: config.maxRequestsInflight, mutating: config.maxMutatingRequestsInflight },
    },
  );
  return {
    api,
    health,
    metrics,
    async close() {
      stopMeasuring();
      await audit?.close();
    },
  };
}

function resourceHandler(
  core: Core,
  protobuf: ReturnType<typeof createApiProtobuf>,
  { aggregation, nodes, isReady }: ServerParts,
): Handler {
  const { vocabulary, clock, registry, cache, verbs, access } = core;
  const options = { vocabulary, gates: core.gates };
  const scale = createScaleMapping(createBuiltinSchema('autoscaling/v1.Scale', options));
  return createResourceHandler({
    registry,
    cache,
    verbs: aggregation === undefined ? verbs : replacingLocal({ verbs, cache, vocabulary }),
    content: createContent({ vocabulary, now: () => clock.now(), protobuf }),
    authorizer: access.authorizer,
    clock,
    vocabulary,
    ...(aggregation === undefined ? {} : { delegate: aggregation.delegate }),
    connect: nodes.connect,
    connectSchema: (kind) => createBuiltinSchema(`core/v1.${kind}`, options),
    components: createComponents(core, isReady),
    collector: nodes.collector,
    reviews: { authenticator: access.authenticator, authorizer: access.authorizer },
    accountToken: {
      issuer: core.accountTokens.issuer,
      target: {
        schema: createBuiltinSchema('authentication/v1.TokenRequest', options),
        apiVersion: `authentication.${vocabulary.apiGroupDomain}/v1`,
        kind: 'TokenRequest',
      },
    },
    scale: (resource) =>
      resource.info.subresources.has('scale') ? { ...scale, ...resource.scale } : undefined,
    evictionSchema: {
      schema: createBuiltinSchema('policy/v1.Eviction', options),
      apiVersion: 'policy/v1',
      aliases: ['policy/v1beta1'],
      kind: 'Eviction',
    },
  });
}

async function servingCertificate(
  { config }: Core,
  { serving, authority }: ServerIdentity,
): Promise<ServingCertificate> {
  const ca = authority.certificate;
  if (config.tlsCertFile === '') return { cert: serving.certificate, key: serving.key, ca };
  const [cert, key] = await Promise.all([readFile(config.tlsCertFile), readFile(config.tlsPrivateKeyFile)]);
  return { cert, key, ca };
}
