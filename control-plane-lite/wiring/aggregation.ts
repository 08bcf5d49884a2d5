/** API aggregation: APIServices, and the configuration by which extension servers authenticate this one. */
import { createLoop } from '#api/kit/loop.ts';
import { type Aggregator, createAggregator } from '../aggregation/aggregator.ts';
import { publishAuthentication } from '../aggregation/authentication-config-map.ts';
import { ownGroup } from '../aggregation/automanaged.ts';
import { runLocalRegistration } from '../aggregation/register-local.ts';
import { REQUEST_HEADER_NAME } from '../identity/files.ts';
import { pairOptions } from './certificates/key-pairs.ts';
import type { Core } from './core.ts';
import type { AggregationState } from './health-checks.ts';

export interface Aggregation
  extends Pick<
    Aggregator,
    'delegate' | 'extraGroups' | 'serves' | 'apis' | 'content' | 'autoscaling' | 'documents' | 'close'
  > {
  readonly state: AggregationState;
  /** When everything holds that `state` shows. */
  readonly begun: Promise<void>;
  /** Works until the signal fires. The system's namespaces must be there. */
  run(signal: AbortSignal): Promise<void>;
}

/** `undefined` if APIServices aren't served. */
export async function createAggregation(core: Core): Promise<Aggregation | undefined> {
  const { config, registry, cache, vocabulary, identity, clientAuthorities, proxyAuthorities } = core;
  const resource = registry.find(ownGroup(vocabulary), 'v1', 'apiservices');
  if (resource === undefined) return undefined;
  const log = core.log.child({ controller: 'aggregator' });
  const { proxyClientCertFile: certFile, proxyClientKeyFile: keyFile } = config;
  const configured =
    certFile === ''
      ? undefined
      : await core.follow(pairOptions('client certificate for aggregated servers', certFile, keyFile));
  const deps = { ...core, log, resource };
  const aggregator = createAggregator(
    { ...deps, identity: configured?.current ?? (() => identity.current().requestHeader) },
    { direct: config.enableAggregatorRouting, responseTimeoutMs: config.requestTimeout },
  );
  const { delegate, extraGroups, serves, apis, content, autoscaling, documents, close } = aggregator;

  async function publish(signal: AbortSignal): Promise<void> {
    const configMaps = registry.find('', 'v1', 'configmaps');
    if (configMaps === undefined) return;
    await publishAuthentication(
      { verbs: core.verbs, resource: configMaps, vocabulary, nowMs: core.clock.now() },
      {
        clientAuthorities: clientAuthorities.pem(),
        requestHeaderAuthorities: `${identity.current().requestHeaderAuthority.trusted}${proxyAuthorities.pem()}`,
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
    autoscaling,
    documents,
    close,
    async run(signal) {
      await publish(signal);
      reached.trustPublished = true;
      const publishing = createLoop({
        clock: core.clock,
        async step() {
          await publish(signal);
          return undefined;
        },
        onError: (err) => log.warn({ err }, 'Failed to publish authorities for extension servers; retrying'),
      });
      identity.onChange(() => publishing.wake());
      clientAuthorities.onChange(() => publishing.wake());
      proxyAuthorities.onChange(() => publishing.wake());
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
        publishing.run(signal),
      ]);
    },
  };
}
