/** HTTP server over the core: endpoints, non-resource paths, limits, audit. */

import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { addAggregationMetrics } from '../aggregation/metrics.ts';
import { replacingLocal } from '../aggregation/replace-local.ts';
import { gateSettings } from '../config/parse.ts';
import { createContent } from '../content/content.ts';
import { createStatusEncoder } from '../content/plain.ts';
import type { ExtraGroup } from '../discovery/groups.ts';
import { createTokenIssuerRoutes } from '../discovery/token-issuer.ts';
import { createResourceHandler } from '../endpoints/resource-handler.ts';
import { createScaleMapping } from '../endpoints/scale-mapping.ts';
import type { Handler, PathRoute, RequestInfo } from '../http/contract.ts';
import { logFilesRoute } from '../http/debug/log-files.ts';
import { createProfilesRoute } from '../http/debug/profiles.ts';
import { createHealth, type Health, type HealthCheck } from '../http/health/health.ts';
import { withWaits } from '../http/health/health-waits.ts';
import { addProcessMetrics, metricsRoute } from '../http/metrics/metrics.ts';
import type { Authenticate } from '../http/pipeline/authenticate.ts';
import { createImpersonation } from '../http/pipeline/impersonate.ts';
import { type ApiServer, type ApiServerOptions, createApiServer } from '../http/server.ts';
import { createBuiltinSchema } from '../resources/builtin-schema.ts';
import { isKnown } from '../resources/registry.ts';
import type { Aggregation } from './aggregation.ts';
import { createAudit } from './audit.ts';
import { browserPolicy } from './browser.ts';
import { createServingTls, insecureSuites, tlsOptions } from './certificates/serving-tls.ts';
import { createComponents } from './components.ts';
import type { Core } from './core.ts';
import { descriptionRoutes } from './description.ts';
import { createFlows, type Flows } from './flow-control.ts';
import { healthChecks } from './health-checks.ts';
import type { Nodes } from './nodes.ts';
import { addObjectMetrics } from './store-metrics.ts';

export interface Server {
  readonly api: ApiServer;
  readonly health: Health;
  readonly metrics: MetricsRegistry;
  /** API priority and fairness; absent: disabled. */
  readonly flows: Flows | undefined;
  /** Must be called when the API server has stopped. */
  close(): Promise<void>;
}

export interface ServerParts {
  /** Further paths, of subsystems that are wired elsewhere. */
  readonly routes: readonly PathRoute[];
  readonly isReady: () => boolean;
  readonly changingChecks: () => readonly HealthCheck[];
  /** `host:port` advertised to clients. */
  readonly serverAddress: () => string;
  /** Groups of aggregated servers; absent: none. */
  readonly aggregation: Aggregation | undefined;
  /** Connect subresources of nodes and pods, and their metrics. */
  readonly nodes: Nodes;
}

/** Logs of the machine, as upstream serves them. */
const LOG_DIR = '/var/log';

const NO_GROUPS: readonly ExtraGroup[] = [];

/** @throws Error that names an unreadable file */
export async function createServer(core: Core, more: ServerParts): Promise<Server> {
  const { config, vocabulary, clock, log, access, metrics } = core;
  const { aggregation } = more;
  const stopMeasuring = addProcessMetrics(metrics);
  addObjectMetrics(core);
  if (aggregation !== undefined) addAggregationMetrics(metrics, aggregation.apis);
  const protobuf = createApiProtobuf(vocabulary);
  const health = healthOf(core, more);
  const audit = await createAudit(core, metrics);
  const flows = createFlows(core, metrics);
  const tls = await createServingTls(core);
  const insecure = insecureSuites(config);
  if (insecure.length > 0) log.warn({ suites: insecure }, 'Insecure cipher suites configured');
  const tokenIssuer = createTokenIssuerRoutes({
    issuer: core.accountTokens.issuerName,
    keys: core.accountTokens.keys,
    jwksUri: config.serviceAccountJwksUri,
    serverAddress: more.serverAddress,
  });
  const others = [
    ...healthRoutes(core, health),
    metricsRoute(metrics),
    ...tokenIssuer,
    ...debugRoutes(core),
    ...(flows?.routes ?? []),
    ...more.routes,
  ];
  const api = createApiServer(
    {
      clock,
      log,
      vocabulary,
      registry: metrics,
      authenticate: measured(core),
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
      browser: browserPolicy(config),
      ...optionalParts(audit, flows),
    },
    { tls: tls.current(), ...serverOptions(core) },
  );
  tls.onChange((certificate) => api.setCertificate(certificate));
  return {
    api,
    health,
    metrics,
    flows,
    close() {
      stopMeasuring();
      flows?.close();
      return audit?.close() ?? Promise.resolve();
    },
  };
}

const debugRoutes = ({ config }: Core): readonly PathRoute[] => [
  ...(config.profiling ? [createProfilesRoute()] : []),
  ...(config.enableLogsHandler ? [logFilesRoute(LOG_DIR)] : []),
];

function serverOptions({ config, gates }: Core): Omit<ApiServerOptions, 'tls'> {
  const { http2MaxStreamsPerConnection: maxStreams } = config;
  return {
    ...tlsOptions(config),
    ...(maxStreams === 0 ? {} : { maxStreams }),
    goawayChance: config.goawayChance,
    requestTimeoutMs: config.requestTimeout,
    compress: gates.has('APIResponseCompression'),
    maxConnectionsPerAddress: config.maxConnectionsPerAddress,
    inFlight: { readOnly: config.maxRequestsInflight, mutating: config.maxMutatingRequestsInflight },
  };
}

const healthOf = (core: Core, { isReady, aggregation, changingChecks }: ServerParts): Health =>
  createHealth(core, {
    checks: healthChecks(core, {
      cacheSynced: () => core.cache.synced,
      begun: isReady,
      aggregation: aggregation?.state,
    }),
    livezGraceMs: core.config.livezGracePeriod,
    changingChecks,
  });

function healthRoutes({ waits, clock }: Core, { routes }: Health): readonly PathRoute[] {
  return waits === undefined ? routes : withWaits(routes, { waits, now: () => clock.now() });
}

type OptionalParts = Pick<Parameters<typeof createApiServer>[0], 'audit' | 'flowControl'>;

function optionalParts(
  audit: Awaited<ReturnType<typeof createAudit>>,
  flows: Flows | undefined,
): OptionalParts {
  return {
    ...(audit === undefined ? {} : { audit: audit.auditor }),
    ...(flows === undefined ? {} : { flowControl: flows.control }),
  };
}

/** Returns the authenticator of requests, which records its results. */
function measured({ access, authentication, clock }: Core): Authenticate {
  return async (request) => {
    const begunMs = clock.monotonic();
    const result = await access.authenticator.authenticate(request);
    authentication.record(result, (clock.monotonic() - begunMs) / 1000);
    return result;
  };
}

const VALIDATION_GATE = 'ServerSideFieldValidation';

/** Reports whether clients may choose how unknown fields are handled: unless the gate is off explicitly. The
 *  parameter is part of the API conventions, document 1 §4.7. */
const validatesFields = ({ config }: Core): boolean =>
  gateSettings(config.featureGates)[VALIDATION_GATE] !== false;

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
    content: createContent({
      vocabulary,
      now: () => clock.now(),
      protobuf,
      validatesFields: validatesFields(core),
    }),
    authorizer: access.authorizer,
    clock,
    vocabulary,
    watchTimeoutMs: core.config.minRequestTimeout * 1000,
    lists: {
      inPages: core.gates.has('APIListChunking'),
      countRest: core.gates.has('RemainingItemCount'),
    },
    ...(aggregation === undefined ? {} : { delegate: aggregation.delegate }),
    connect: nodes.connect,
    connectSchema: (kind) => createBuiltinSchema(`core/v1.${kind}`, options),
    components: createComponents(core, isReady),
    collector: nodes.collector,
    reviews: {
      authenticator: access.authenticator,
      apiAudiences: core.accountTokens.audiences,
      authorizer: access.authorizer,
    },
    accountToken: {
      issuer: core.accountTokens.issuer,
      limits: {
        maxSeconds: core.config.serviceAccountMaxTokenExpiration / 1000,
        extend: core.config.serviceAccountExtendTokenExpiration,
      },
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
