/** CustomResourceDefinition controller: accepts names, and deletes the custom objects of terminating
 *  definitions. Runs on every API server: its writes follow from stored state, so that several servers agree.
 *  Source: apiextensions/v1, conditions of CustomResourceDefinition. */
import { isDeepStrictEqual } from 'node:util';
import type { CustomResourceDefinition, CustomResourceDefinitionStatus } from '#api/gen/apiextensions-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue, type WorkQueue } from '#api/kit/work-queue.ts';
import { formatTime } from '#api/meta/time.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache, CacheChange, CachedObject, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { Caller, Verbs } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { storedObjects } from '../custom-resources.ts';
import { cleanupFinalizer, definitionOf, withoutSchemas } from '../definition.ts';
import { decideNames, isContested, takenNames, withVerdicts } from '../naming.ts';

export interface DefinitionControllerDeps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  /** Awaited before the definition is established: clients may use it as soon as they see the condition. */
  readonly prepare: (entry: CachedObject) => Promise<void> | undefined;
}

const MANAGER = 'definition-controller';
/** Next look at objects that something still holds; the end of one usually comes first. */
const LOOK_AGAIN_MS = 10_000;

/** Time for another server to release a conflicting name, in ms. */
const CONTEST_MS = 300;

type Status = CustomResourceDefinitionStatus;

/** Runs until the signal is aborted. */
export async function runDefinitionController(
  deps: DefinitionControllerDeps,
  definitions: Resource,
  signal: AbortSignal,
): Promise<void> {
  const controller = new DefinitionController(deps, definitions, controllerCaller(MANAGER, signal));
  await controller.run(signal);
}

class DefinitionController {
  readonly #deps: DefinitionControllerDeps;
  readonly #definitions: Resource;
  readonly #caller: Caller;
  readonly #queue: WorkQueue;
  /** All definitions without their large members: repeated parsing of a large one would block the event loop. */
  readonly #known = new Map<string, CustomResourceDefinition>();
  /** Definitions with conflicting names that wait for others, with their UIDs. */
  readonly #contested = new Map<string, string>();
  /** Watches of the objects of definitions that are being deleted, by name of the definition. */
  readonly #emptying = new Map<string, WatchHandle>();

  constructor(deps: DefinitionControllerDeps, definitions: Resource, caller: Caller) {
    this.#deps = deps;
    this.#definitions = definitions;
    this.#caller = caller;
    this.#queue = createWorkQueue({
      clock: deps.clock,
      work: (name) => this.#visit(name),
      onError: (name, err) =>
        deps.log.warn({ err, definition: name }, 'Failed to reconcile CustomResourceDefinition; retrying'),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const following = this.#deps.cache
      .resource(this.#definitions.storage)
      .follow((change) => this.#changed(change));
    await this.#queue.run(signal);
    following.close();
    for (const handle of this.#emptying.values()) handle.close();
  }

  #changed({ type, current }: CacheChange): void {
    if (type !== 'DELETED') {
      this.#known.set(current.name, withoutSchemas(definitionOf(current.object())));
      this.#queue.add(current.name);
      return;
    }
    const gone = this.#known.get(current.name);
    this.#known.delete(current.name);
    this.#contested.delete(current.name);
    this.#emptying.get(current.name)?.close();
    this.#emptying.delete(current.name);
    // Its names are free for those of the same group.
    for (const [name, other] of this.#known) if (other.spec.group === gone?.spec.group) this.#queue.add(name);
  }

  async #visit(name: string): Promise<number | undefined> {
    await this.#deps.cache.waitForNewest();
    const found = this.#deps.cache.resource(this.#definitions.storage).get(name);
    const definition = this.#known.get(name);
    if (found === undefined || definition === undefined) return undefined;
    if (definition.metadata?.deletionTimestamp !== undefined) return this.#empty(name, definition);
    return this.#name(name, definition, found);
  }

  async #name(
    name: string,
    definition: CustomResourceDefinition,
    entry: CachedObject,
  ): Promise<number | undefined> {
    const uid = definition.metadata?.uid ?? '';
    if (this.#contested.get(name) !== uid && isContested(definition, this.#othersOf(definition))) {
      this.#contested.set(name, uid);
      return CONTEST_MS;
    }
    this.#contested.delete(name);
    const now = formatTime(this.#deps.clock.now());
    if (this.#named(definition, now) === undefined) return undefined;
    await this.#deps.prepare(entry);
    await this.#setStatus(name, (live) => this.#named(live, now));
    return undefined;
  }

  #othersOf({ spec }: CustomResourceDefinition): readonly CustomResourceDefinition[] {
    return [...this.#known.values()].filter((other) => other.spec.group === spec.group);
  }

  /** The status with the names that the definition gets; `undefined` if it has them. */
  #named(definition: CustomResourceDefinition, now: string): Status | undefined {
    const { registry } = this.#deps;
    const { group } = definition.spec;
    const others = this.#othersOf(definition);
    const builtIn = registry
      .all()
      .filter(({ info, schema }) => info.group === group && schema.typeRef !== undefined)
      .map(({ info }) => info);
    const decided = decideNames(definition, takenNames(definition, others, builtIn), now);
    const { acceptedNames, conditions } = definition.status ?? {};
    const same =
      isDeepStrictEqual(acceptedNames, decided.acceptedNames) &&
      isDeepStrictEqual(conditions, decided.conditions);
    return same ? undefined : { ...definition.status, ...decided };
  }

  /** `decide`: the new status; `undefined` leaves it as it is. */
  async #setStatus(
    name: string,
    decide: (definition: CustomResourceDefinition) => Status | undefined,
  ): Promise<void> {
    await unlessGone(() =>
      this.#deps.verbs.update({
        ref: { resource: this.#definitions, namespace: '', name },
        change: (live) => {
          const status = decide(definitionOf(live));
          if (status !== undefined) live['status'] = status;
          return live;
        },
        dryRun: false,
        fieldManager: MANAGER,
        subresource: 'status',
        caller: this.#caller,
      }),
    );
  }

  async #terminating(name: string, reason: string, message: string, holds: boolean): Promise<void> {
    const now = formatTime(this.#deps.clock.now());
    const verdict = { type: 'Terminating', status: holds ? 'True' : 'False', reason, message };
    await this.#setStatus(name, ({ status = {} }) => ({
      ...status,
      conditions: withVerdicts(status.conditions ?? [], [verdict], now),
    }));
  }

  /** Deletes all objects once; lets the definition go when none is left. */
  async #empty(name: string, definition: CustomResourceDefinition): Promise<number | undefined> {
    const { vocabulary, cache, verbs } = this.#deps;
    const finalizer = cleanupFinalizer(vocabulary.apiGroupDomain);
    if (definition.metadata?.finalizers?.includes(finalizer) !== true) return undefined;
    const objects = storedObjects(definition, vocabulary);
    const instances = cache.resource(objects.storage);
    const selection = { labels: [], fields: [] };
    if (instances.size > 0) {
      await this.#terminating(
        name,
        'InstanceDeletionInProgress',
        'CustomResource deletion is in progress',
        true,
      );
      this.#watchEnd(name, objects);
      const request = { dryRun: false, propagationPolicy: 'Background' } as const;
      await verbs.deleteCollection({ ...request, resource: objects, selection, caller: this.#caller });
      await cache.waitForNewest();
    }
    if (instances.size > 0) return LOOK_AGAIN_MS;
    await this.#terminating(name, 'InstanceDeletionCompleted', 'removed all instances', false);
    await this.#release(name, finalizer);
    return undefined;
  }

  /** The last object to go makes the definition due. */
  #watchEnd(name: string, { storage }: Resource): void {
    if (this.#emptying.has(name)) return;
    const instances = this.#deps.cache.resource(storage);
    const handle = instances.follow(({ type }) => {
      if (type === 'DELETED' && instances.size === 0) this.#queue.add(name);
    });
    this.#emptying.set(name, handle);
  }

  async #release(name: string, finalizer: string): Promise<void> {
    await unlessGone(() =>
      this.#deps.verbs.update({
        ref: { resource: this.#definitions, namespace: '', name },
        change: (live) => withoutFinalizer(live, finalizer),
        dryRun: false,
        fieldManager: MANAGER,
        caller: this.#caller,
      }),
    );
  }
}

function withoutFinalizer(live: ApiObject, finalizer: string): ApiObject {
  const { finalizers = [] } = live.metadata;
  live.metadata.finalizers = finalizers.filter((each) => each !== finalizer);
  return live;
}
