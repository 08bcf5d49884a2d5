/** API aggregation: APIServices, and the configuration by which extension servers authenticate this one. */
import { type Aggregator, createAggregator } from '../aggregation/aggregator.ts';
import { publishAuthentication } from '../aggregation/authentication-config-map.ts';
import { ownGroup } from '../aggregation/automanaged.ts';
import { runLocalRegistration } from '../aggregation/register-local.ts';
import { REQUEST_HEADER_NAME, type ServerIdentity } from '../identity/files.ts';
import { readBundle } from './authentication.ts';
import type { Core } from './core.ts';
import type { AggregationState } from './health-checks.ts';

export interface Aggregation
  extends Pick<
    Aggregator,
    'delegate' | 'extraGroups' | 'serves' | 'apis' | 'content' | 'documents' | 'close'
  > {
  readonly state: AggregationState;
  /** When everything holds that `state` shows. */
  readonly begun: Promise<void>;
  /** Works until the signal fires. The system's namespaces must be there. */
  run(signal: AbortSignal): Promise<void>;
}

/** `undefined` if APIServices aren't served. */
export function createAggregation(core: Core, identity: ServerIdentity): Aggregation | undefined {
  const { config, registry, cache, vocabulary } = core;
  const resource = registry.find(ownGroup(vocabulary), 'v1', 'apiservices');
  if (resource === undefined) return undefined;
  const log = core.log.child({ controller: 'aggregator' });
  const deps = { ...core, log, resource };
  const aggregator = createAggregator(
    { ...deps, identity: identity.requestHeader },
    { direct: config.enableAggregatorRouting, responseTimeoutMs: config.requestTimeout },
  );
  const { delegate, extraGroups, serves, apis, content, documents, close } = aggregator;

  async function publish(signal: AbortSignal): Promise<void> {
    const configMaps = registry.find('', 'v1', 'configmaps');
    if (configMaps === undefined) return;
    const bundle = await readBundle(config.clientCaFile);
    const proxies = await readBundle(config.requestheaderClientCaFile);
    await publishAuthentication(
      { verbs: core.verbs, resource: configMaps, vocabulary, nowMs: core.clock.now() },
      {
        clientAuthorities: `${identity.authority.certificate}\n${bundle}`,
        requestHeaderAuthorities: `${identity.requestHeaderAuthority.certificate}\n${proxies}`,
        requestHeaderNames: [REQUEST_HEADER_NAME, ...config.requestheaderAllowedNames],
        usernameHeaders: config.requestheaderUsernameHeaders,
        groupHeaders: config.requestheaderGroupHeaders,
        extraPrefixes: config.requestheaderExtraHeadersPrefix,
      },
      signal,
    );
  }

  const reached = { trustPublished: false, registered: false };
  const begun = Promise.withResolvers<void>();
  return {
    state: { trustPublished: () => reached.trustPublished, registered: () => reached.registered },
    begun: begun.promise,
    delegate,
    extraGroups,
    serves,
    apis,
    content,
    documents,
    close,
    async run(signal) {
      await publish(signal);
      reached.trustPublished = true;
      const onRegistered = (): void => {
        reached.registered = true;
        begun.resolve();
      };
      await Promise.all([
        runLocalRegistration(
          { registry, cache, verbs: core.verbs, clock: core.clock, log, vocabulary, resource, onRegistered },
          signal,
        ),
        aggregator.run(signal),
      ]);
    },
  };
}
