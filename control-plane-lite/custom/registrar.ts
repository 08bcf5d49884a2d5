/** Keeps the registry in step with the definitions in the store: what is established is served, on every API server
 *  that shares the store. Source: apiextensions/v1. */
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { CustomResourceDefinition } from '#api/schema/gen/apiextensions-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache, CacheChange, CachedObject, WatchHandle } from '../cache/contract.ts';
import type { Resource, StorageInfo } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { WebhookDeps } from '../webhooks/call.ts';
import { customResources } from './custom-resources.ts';
import { definitionOf, holds } from './definition.ts';
import { createWebhookConverter } from './webhook.ts';

export interface RegistrarDeps extends WebhookDeps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly vocabulary: Vocabulary;
  readonly log: Logger;
}

/** What is served of one definition. */
interface Served {
  readonly signature: string;
  readonly resources: readonly Resource[];
  readonly retire: AbortController;
}

/** Differs where what is served of a definition differs. */
function signatureOf(definition: CustomResourceDefinition): string {
  const { metadata, status } = definition;
  return JSON.stringify([
    metadata?.uid,
    metadata?.generation,
    holds(definition, 'Terminating'),
    status?.acceptedNames,
    status?.storedVersions,
  ]);
}

const isServed = (definition: CustomResourceDefinition): boolean => holds(definition, 'Established');

/** Follows the definitions until it is closed; those that are there are served when this returns. */
export function followDefinitions(deps: RegistrarDeps, definitions: Resource): WatchHandle {
  const { registry, cache, vocabulary, log } = deps;
  const served = new Map<string, Served>();

  /** The platform's own resources are never replaced. */
  function isFree({ info }: Resource): boolean {
    const there = registry.find(info.group, info.version, info.plural);
    return there === undefined || there.schema.typeRef === undefined;
  }

  function make(entry: CachedObject, retired: AbortSignal): readonly Resource[] {
    const again = (): CustomResourceDefinition => definitionOf(entry.object());
    const definition = again();
    const { conversion, names } = definition.spec;
    const { webhook } = conversion ?? {};
    const elsewhere =
      conversion?.strategy === 'Webhook' && webhook !== undefined
        ? createWebhookConverter(deps, {
            webhook,
            group: `apiextensions.${vocabulary.apiGroupDomain}`,
            kind: names.kind,
            signal: retired,
          })
        : undefined;
    return customResources(definition, {
      vocabulary,
      again,
      retired,
      ...(elsewhere === undefined ? {} : { elsewhere }),
    }).filter(isFree);
  }

  function forget(gone: StorageInfo | undefined): void {
    if (gone !== undefined) cache.forget(gone);
  }

  function serve(entry: CachedObject): void {
    const { name } = entry;
    const before = served.get(name);
    const signature = signatureOf(definitionOf(entry.object()));
    if (before?.signature === signature) return;
    const retire = new AbortController();
    const resources = make(entry, retire.signal);
    served.set(name, { signature, resources, retire });
    registry.replace(
      (before?.resources ?? []).map(({ info }) => info),
      resources,
    );
    const [main] = resources;
    if (main !== undefined) cache.resource(main.storage);
    before?.retire.abort();
  }

  function withdraw(name: string): void {
    const before = served.get(name);
    if (before === undefined) return;
    served.delete(name);
    registry.replace(
      before.resources.map(({ info }) => info),
      [],
    );
    before.retire.abort();
    forget(before.resources[0]?.storage);
  }

  function take({ type, current }: CacheChange): void {
    const definition = definitionOf(current.object());
    if (type === 'DELETED' || !isServed(definition)) withdraw(current.name);
    else serve(current);
  }

  const following = cache.resource(definitions.storage).follow((change) => {
    try {
      take(change);
    } catch (thrown) {
      log.error({ err: asError(thrown), definition: change.current.name }, 'Definition could not be served');
    }
  });
  return {
    close() {
      following.close();
      for (const { retire } of served.values()) retire.abort();
    },
  };
}
