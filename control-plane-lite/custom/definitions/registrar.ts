/** Updates the resource registry from the stored definitions: every API server that shares the store serves
 *  the established ones. Source: apiextensions/v1. */

import type { CustomResourceDefinition } from '#api/gen/apiextensions-v1.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache, CacheChange, CachedObject, WatchHandle } from '../../cache/contract.ts';
import type { Resource, StorageInfo } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { WebhookDeps } from '../../webhooks/call.ts';
import { createWebhookConverter } from '../conversion/webhook.ts';
import { customResources } from '../custom-resources.ts';
import { definitionOf, holds } from '../definition.ts';
import type { SchemaShelf } from './schema-cache.ts';

export interface RegistrarDeps extends WebhookDeps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly vocabulary: Vocabulary;
  readonly log: Logger;
  readonly shelf: SchemaShelf;
}

/** Served resources of one definition. */
interface Served {
  readonly signature: string;
  readonly resources: readonly Resource[];
  readonly retire: AbortController;
}

/** Returns a key that differs if the served resources differ. */
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

/** Returns the served resources of a definition. Built-in resources are never replaced. */
function makeResources(deps: RegistrarDeps, entry: CachedObject, retired: AbortSignal): readonly Resource[] {
  const { registry, vocabulary, shelf } = deps;
  const definition = definitionOf(entry.object());
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
  const made = customResources(definition, {
    schemas: shelf.schemasOf(entry),
    retired,
    ...(elsewhere === undefined ? {} : { elsewhere }),
  });
  return made.filter(({ info }) => {
    const there = registry.find(info.group, info.version, info.plural);
    return there === undefined || there.schema.typeRef === undefined;
  });
}

export interface DefinitionFollower extends WatchHandle {
  /** Resolves when those definitions are served that were there at first: at once but for large ones. */
  readonly begun: Promise<void>;
}

/** Follows the definitions until it is closed. */
export function followDefinitions(deps: RegistrarDeps, definitions: Resource): DefinitionFollower {
  const { registry, cache, log, shelf } = deps;
  const served = new Map<string, Served>();
  /** Desired or current resources of each definition. */
  const newest = new Map<string, { readonly signature: string; readonly storage: StorageInfo | undefined }>();
  /** Definitions that are being made ready, for as long as it lasts. */
  const beginning = new Set<Promise<void>>();

  const reportFailure = (definition: string, thrown: unknown): void =>
    log.error({ err: asError(thrown), definition }, 'Failed to serve CustomResourceDefinition');

  function put(name: string, next: Served): void {
    // Another state of the definition came while this one was made ready.
    if (newest.get(name)?.signature !== next.signature) return;
    const before = served.get(name);
    served.set(name, next);
    registry.replace(
      (before?.resources ?? []).map(({ info }) => info),
      next.resources,
    );
    before?.retire.abort();
  }

  function later(work: Promise<void>): void {
    beginning.add(work);
    void work.then(() => beginning.delete(work));
  }

  async function putLater(name: string, next: Served, ready: Promise<void>): Promise<void> {
    try {
      await ready;
      put(name, next);
    } catch (thrown) {
      reportFailure(name, thrown);
    }
  }

  function serve(entry: CachedObject): void {
    const { name } = entry;
    const signature = signatureOf(definitionOf(entry.object()));
    const preparing = shelf.prepare(entry);
    if (newest.get(name)?.signature === signature) return;
    const retire = new AbortController();
    const resources = makeResources(deps, entry, retire.signal);
    const storage = resources[0]?.storage;
    newest.set(name, { signature, storage });
    // From now on nothing of its objects is missed, though they are not served yet.
    if (storage !== undefined) cache.resource(storage);
    const next = { signature, resources, retire };
    if (preparing === undefined) put(name, next);
    else later(putLater(name, next, preparing));
  }

  function withdraw(name: string): void {
    const { storage } = newest.get(name) ?? {};
    newest.delete(name);
    const before = served.get(name);
    served.delete(name);
    if (before !== undefined) {
      registry.replace(
        before.resources.map(({ info }) => info),
        [],
      );
      before.retire.abort();
    }
    const gone = storage ?? before?.resources[0]?.storage;
    if (gone !== undefined) cache.forget(gone);
  }

  function take({ type, current }: CacheChange): void {
    const definition = definitionOf(current.object());
    if (type === 'DELETED') shelf.forget(current.name);
    if (type === 'DELETED' || !isServed(definition)) withdraw(current.name);
    else serve(current);
  }

  const following = cache.resource(definitions.storage).follow((change) => {
    try {
      take(change);
    } catch (thrown) {
      reportFailure(change.current.name, thrown);
    }
  });
  const begun = Promise.all(beginning).then(() => undefined);
  return {
    begun,
    close() {
      following.close();
      for (const { retire } of served.values()) retire.abort();
    },
  };
}
