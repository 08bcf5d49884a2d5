/** Binds pods to nodes in the API. The fleet already assumes the binding; a failure is rolled back. Source:
 *  upstream's binding cycle, release 1.24. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { bindPod } from '../../resources/core/pod-binding.ts';
import type { Verbs } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import type { PodInfo } from '../fleet/model.ts';
import type { EventWriter } from './event-writer.ts';

export interface BinderDeps {
  readonly pods: Resource;
  readonly bindings: Resource;
  readonly verbs: Pick<Verbs, 'update' | 'admit'>;
  readonly events: EventWriter;
  readonly clock: Clock;
  readonly vocabulary: Vocabulary;
  readonly log: Logger;
  readonly manager: string;
  /** Binds the volumes that the pod's claims wait for, if any. */
  readonly bindVolumes: (pod: PodInfo, nodeName: string, signal: AbortSignal) => Promise<void>;
  /** The pod was not bound. `error`: it is to be retried; otherwise it no longer needs a node. */
  readonly undo: (pod: PodInfo, error: Error | undefined) => void;
}

export interface Binder {
  /** Begins to bind. */
  bind(pod: PodInfo, nodeName: string): void;
  /** Whether the pod is being bound. */
  isBinding(key: string): boolean;
  /** Resolves when another binding may start. */
  readonly free: Promise<void> | undefined;
}

/** Bound at a time. */
const CONCURRENCY = 64;

/** The pod was deleted, or bound by another client. */
const isOver = (error: Error): boolean =>
  error instanceof StatusError && (error.reason === 'NotFound' || error.reason === 'Conflict');

export function createBinder(deps: BinderDeps, signal: AbortSignal): Binder {
  const binding = new Set<string>();
  const caller = controllerCaller(deps.manager, signal);
  /** Binding requests in flight: pods that wait for their volumes do not block others. */
  let writing = 0;
  let room: PromiseWithResolvers<void> | undefined;

  function wrote(): void {
    writing -= 1;
    room?.resolve();
    room = undefined;
  }

  async function send({ name, uid, shape: { namespace } }: PodInfo, nodeName: string): Promise<void> {
    const body: ApiObject = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace, uid },
      target: { kind: 'Node', name: nodeName },
    };
    const { pods, bindings, clock, vocabulary, manager: fieldManager } = deps;
    const ref = { resource: pods, namespace, name };
    const options = { dryRun: false, subresource: 'binding' } as const;
    await deps.verbs.admit({
      ref,
      draft: body,
      ...options,
      operation: 'CREATE',
      schema: bindings.schema,
      caller,
    });
    await deps.verbs.update({
      ref,
      change: (live) => bindPod(live, body, { nowMs: clock.now(), vocabulary }),
      ...options,
      fieldManager,
      admitted: true,
      caller,
    });
  }

  async function write(pod: PodInfo, nodeName: string): Promise<void> {
    writing += 1;
    try {
      await send(pod, nodeName);
    } finally {
      wrote();
    }
  }

  async function run(pod: PodInfo, nodeName: string): Promise<void> {
    try {
      if (pod.shape.claims.length > 0) await deps.bindVolumes(pod, nodeName, signal);
      await write(pod, nodeName);
      deps.events.record(pod, {
        type: 'Normal',
        reason: 'Scheduled',
        action: 'Binding',
        message: `Successfully assigned ${pod.key} to ${nodeName}`,
      });
    } catch (thrown) {
      const error = asError(thrown);
      deps.undo(pod, isOver(error) ? undefined : error);
      if (!isOver(error) && !signal.aborted) {
        deps.log.warn({ err: error, pod: pod.key, node: nodeName }, 'Failed to bind pod; retrying');
      }
    } finally {
      binding.delete(pod.key);
    }
  }

  return {
    bind(pod, nodeName) {
      binding.add(pod.key);
      void run(pod, nodeName);
    },
    isBinding: (key) => binding.has(key),
    get free() {
      if (writing < CONCURRENCY) return undefined;
      room ??= Promise.withResolvers<void>();
      return room.promise;
    },
  };
}
