/** HTTP over the core: endpoints, paths of no resource, limits, audit. */
import { readFile } from 'node:fs/promises';
import { createApiProtobuf } from '#api/codec/api-protobuf.ts';
import { createMetricsRegistry, type MetricsRegistry } from '#api/kit/metrics.ts';
import { addAggregationMetrics } from '../aggregation/metrics.ts';
import { createBuiltinSchema } from '../content/builtin-schema.ts';
import { createContent } from '../content/content.ts';
import { createStatusEncoder } from '../content/plain.ts';
import type { ExtraGroup } from '../discovery/groups.ts';
import type { NodePassage } from '../endpoints/node-passage/passage.ts';
import { createResourceHandler } from '../endpoints/resource-handler.ts';
import { createScaleMapping } from '../endpoints/scale-mapping.ts';
import type { Handler, PathRoute, RequestInfo } from '../http/contract.ts';
import { createHealth, type Health, type HealthCheck, PassingStateError } from '../http/health.ts';
import { withWaits } from '../http/health-waits.ts';
import { createImpersonation } from '../http/impersonation.ts';
import type { ServingCertificate } from '../http/listener.ts';
import { addProcessMetrics, metricsRoute } from '../http/metrics.ts';
import { type ApiServer, createApiServer } from '../http/server.ts';
import type { ServerIdentity } from '../identity/files.ts';
import { isKnown } from '../resources/registry.ts';
import type { Aggregation } from './aggregation.ts';
import { createAudit } from './audit.ts';
import { createComponents } from './components.ts';
import type { Core } from './core.ts';
import { descriptionRoutes } from './description.ts';

export interface Server {
  readonly api: ApiServer;
  readonly health: Health;
  readonly metrics: MetricsRegistry;
  /** To be called when the API server has ended. */
  close(): Promise<void>;
}

export interface ServerParts {
  /** Further paths, of parts that are wired elsewhere. */
  readonly routes: readonly PathRoute[];
  readonly isReady: () => boolean;
  /** `host:port` that clients are told. */
  readonly serverAddress: () => string;
  /** Groups of other servers; absent: there are none. */
  readonly aggregation: Aggregation | undefined;
  /** What lies behind the subresources that lead to nodes and pods. */
  readonly nodes: NodePassage;
}

const NO_GROUPS: readonly ExtraGroup[] = [];

/** @throws Error that names a file which can't be read */
export async function createServer(core: Core, identity: ServerIdentity, more: ServerParts): Promise<Server> {
  const { config, vocabulary, clock, log, access } = core;
  const { aggregation } = more;
  const metrics = createMetricsRegistry();
  const stopMeasuring = addProcessMetrics(metrics);
  if (aggregation !== undefined) addAggregationMetrics(metrics, aggregation.apis);
  const protobuf = createApiProtobuf(vocabulary);
  const health = createHealth(
    { clock, log },
    { checks: healthChecks(core, more.isReady), livezGraceMs: config.livezGracePeriod },
  );
  const audit = await createAudit(core, metrics);
  const healthRoutes =
    core.waits === undefined
      ? health.routes
      : withWaits(health.routes, { waits: core.waits, now: () => clock.now() });
  const others = [...healthRoutes, metricsRoute(metrics), ...more.routes];
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
    verbs,
    content: createContent({ vocabulary, now: () => clock.now(), protobuf }),
    authorizer: access.authorizer,
    clock,
    vocabulary,
    ...(aggregation === undefined ? {} : { delegate: aggregation.delegate }),
    connect: nodes.connect,
    connectSchema: (kind) => createBuiltinSchema(`core/v1.${kind}`, options),
    components: createComponents(core, isReady),
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

/** What upstream's server has done, by the names of its checks, when every object is there that a server begins with. */
const POST_START_HOOKS = [
  'poststarthook/bootstrap-controller',
  'poststarthook/rbac/bootstrap-roles',
  'poststarthook/scheduling/bootstrap-system-priority-classes',
] as const;

/** The checks under upstream's names, so that exclusions in probes and runbooks mean the same here; our own earlier
 *  names may still be used. */
function healthChecks({ store, cache }: Core, isReady: () => boolean): readonly HealthCheck[] {
  const begun = (): void => {
    if (!isReady())
      throw new PassingStateError('the objects that every server begins with have not all been created');
  };
  return [
    { name: 'log', check: () => undefined },
    {
      name: 'etcd',
      aliases: ['store'],
      check: async () => {
        await store.currentRevision();
      },
    },
    {
      name: 'informer-sync',
      aliases: ['cache-sync'],
      on: ['readyz'],
      check: () => {
        if (!cache.synced) throw new PassingStateError('the cache does not follow the store');
      },
    },
    ...POST_START_HOOKS.map((name) => ({
      name,
      ...(name.endsWith('bootstrap-roles') ? { aliases: ['bootstrap'] } : {}),
      startup: true,
      check: begun,
    })),
  ];
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
