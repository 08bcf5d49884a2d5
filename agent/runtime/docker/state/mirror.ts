/** The records of this node, kept current by docker's events and by our own operations. Requests read them and
 *  cause no requests to docker. Emits each change once, whichever source reported it first. */
import type { Clock } from '#api/kit/clock.ts';
import { createKeyedQueue } from '#api/kit/keyed-queue.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { DockerClient } from '../client/docker-client.ts';
import { isMissing } from '../client/errors.ts';
import type { DockerEvent, InspectedContainer } from '../client/parse.ts';
import type { ContainerNote, SandboxNote } from '../config/labels.ts';
import { recordOf } from './outcome.ts';
import type { ContainerRecord, RuntimeRecord, SandboxRecord } from './records.ts';

export interface RecordChange {
  readonly kind: 'created' | 'started' | 'stopped' | 'deleted';
  readonly record: RuntimeRecord;
}

export interface MirrorDeps {
  readonly clock: Clock;
  readonly client: Pick<DockerClient, 'inspect'>;
  readonly parseNote: (labels: Readonly<Record<string, string>>) => SandboxNote | ContainerNote | undefined;
  /** Completes the log of a container that has exited, before its exit is published. */
  readonly completeLog: (container: ContainerRecord) => Promise<void>;
  /** Returns the addresses of a ready sandbox whose network docker does not manage. */
  readonly addressesOf: (note: SandboxNote, inspected: InspectedContainer) => Promise<readonly string[]>;
  readonly forget: (record: RuntimeRecord) => void;
  /** Whether our own request is creating this sandbox. It is not recorded before it is ready: a client would take it for
   *  one that has ended. */
  readonly isCreating: (note: SandboxNote) => boolean;
}

export interface Mirror {
  get(id: string): RuntimeRecord | undefined;
  sandboxes(): readonly SandboxRecord[];
  containers(): readonly ContainerRecord[];
  /** Records the result of our own request; a record of docker's events may precede it. */
  put(record: RuntimeRecord): void;
  remove(id: string): void;
  /** Inspects the container, and resolves when its record is current. */
  settle(id: string): Promise<RuntimeRecord | undefined>;
  applyEvent(event: DockerEvent): void;
  /** Calls `listener` at each change. Returns a function that ends the subscription. */
  onChange(listener: (change: RecordChange) => void): () => void;
}

/** Progress of a record: it never goes back, so that a late report of an earlier state has no effect. */
function stageOf(record: RuntimeRecord): number {
  if (record.kind === 'sandbox') return record.isReady ? 1 : 0;
  return ['created', 'running', 'exited'].indexOf(record.phase);
}

function changesOf(
  before: RuntimeRecord | undefined,
  after: RuntimeRecord,
): readonly Exclude<RecordChange['kind'], 'deleted'>[] {
  if (before === undefined) {
    const hasStarted = after.kind === 'container' ? after.phase !== 'created' : after.isReady;
    const hasEnded = after.kind === 'container' && after.phase === 'exited';
    return [
      'created',
      ...(hasStarted ? (['started'] as const) : []),
      ...(hasEnded ? (['stopped'] as const) : []),
    ];
  }
  if (stageOf(before) === stageOf(after)) return [];
  const isUp = after.kind === 'sandbox' ? after.isReady : after.phase === 'running';
  return [isUp ? 'started' : 'stopped'];
}

export function createMirror(deps: MirrorDeps): Mirror {
  const records = new Map<string, RuntimeRecord>();
  const listeners = createListeners<[change: RecordChange]>('docker records');
  const queue = createKeyedQueue();
  /** Sandboxes that ended before they were recorded. */
  const endedEarly = new Set<string>();

  function put(record: RuntimeRecord): void {
    store(record);
    if (endedEarly.delete(record.id)) refresh(record.id);
  }

  function store(record: RuntimeRecord): void {
    const before = records.get(record.id);
    if (before !== undefined && record.kind === 'container' && stageOf(record) < stageOf(before)) return;
    records.set(record.id, record);
    for (const kind of changesOf(before, record)) listeners.notify({ kind, record });
  }

  function remove(id: string): void {
    const record = records.get(id);
    if (record === undefined) return;
    records.delete(id);
    deps.forget(record);
    listeners.notify({ kind: 'deleted', record });
  }

  async function inspect(id: string): Promise<RuntimeRecord | undefined> {
    const inspected = await deps.client.inspect(id).catch((thrown: unknown) => {
      if (isMissing(thrown)) return undefined;
      throw thrown;
    });
    if (inspected === undefined) {
      remove(id);
      return undefined;
    }
    const note = records.get(id)?.note ?? deps.parseNote(inspected.labels);
    if (note === undefined) return undefined;
    const addresses =
      note.kind === 'sandbox' && inspected.isRunning ? await deps.addressesOf(note, inspected) : [];
    const record = recordOf(note, { ...inspected, addresses });
    if (record.kind === 'container' && record.phase === 'exited') await deps.completeLog(record);
    put(record);
    return records.get(id);
  }

  const settle = (id: string): Promise<RuntimeRecord | undefined> => queue.run(id, () => inspect(id));

  /** A failed inspection means that the connection broke, after which all are listed again. */
  function refresh(id: string): void {
    settle(id).catch(() => undefined);
  }

  const isInCreation = (note: SandboxNote | ContainerNote | undefined): boolean =>
    note?.kind === 'sandbox' && deps.isCreating(note);

  function created(event: DockerEvent): void {
    const note = deps.parseNote(event.labels);
    if (note === undefined || records.has(event.id) || isInCreation(note)) return;
    const { id, timeNs } = event;
    put(note.kind === 'sandbox' ? createdSandbox(note, id, timeNs) : createdContainer(note, id, timeNs, ''));
  }

  return {
    get: (id) => records.get(id),
    sandboxes: () => [...records.values()].filter((record) => record.kind === 'sandbox'),
    containers: () => [...records.values()].filter((record) => record.kind === 'container'),
    put,
    remove,
    settle,
    applyEvent(event) {
      if (event.action === 'create') created(event);
      if (event.action === 'destroy') {
        endedEarly.delete(event.id);
        remove(event.id);
      }
      if (event.action !== 'die') return;
      if (records.has(event.id)) refresh(event.id);
      else if (isInCreation(deps.parseNote(event.labels))) endedEarly.add(event.id);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Returns the record of a sandbox that has not started. */
export function createdSandbox(note: SandboxNote, id: string, createdAtNs: bigint): SandboxRecord {
  return { kind: 'sandbox', id, note, createdAtNs, isReady: false, addresses: [] };
}

/** Returns the record of a container that has not started. */
export function createdContainer(
  note: ContainerNote,
  id: string,
  createdAtNs: bigint,
  imageId: string,
): ContainerRecord {
  const state = { phase: 'created', startedAtNs: 0n, finishedAtNs: 0n, exitCode: 0 } as const;
  return { kind: 'container', id, note, imageId, createdAtNs, ...state, reason: '', message: '' };
}
