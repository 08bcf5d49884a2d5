/** Follows docker's events for the lifetime of the runtime. After each connection, lists everything and corrects
 *  the records, so that events missed meanwhile are emitted late. Writes nothing to docker. */
import { createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ChannelState } from '#cri/client/channel-state.ts';
import type { DockerClient, DockerFilters } from '../client/docker-client.ts';
import type { DockerEvent, DockerInfo, ListedContainer } from '../client/parse.ts';
import { NODE_LABEL } from '../config/labels.ts';
import type { Mirror } from './mirror.ts';

export interface FollowDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly client: Pick<DockerClient, 'events' | 'info' | 'list'>;
  readonly mirror: Mirror;
  /** Node of the label of own containers. */
  readonly node: string;
  /** Called after each connection, before the state changes. @throws errors that break the connection again */
  readonly onInfo: (info: DockerInfo) => void;
  /** Called after each connection, when the records are current. */
  readonly onCurrent: () => void;
}

export interface DockerLink {
  state(): ChannelState;
  onStateChange(listener: (state: ChannelState) => void): () => void;
  /** Follows until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

const RETRY = { initialMs: 100, maxMs: 3000, resetAfterMs: 30_000 };
const MOST_INSPECTIONS = 8;
const ACTIONS = ['create', 'start', 'die', 'destroy'];

async function reconcile({ client, mirror }: FollowDeps, own: DockerFilters): Promise<void> {
  const listed = await client.list(own);
  const ids = new Set(listed.map(({ id }) => id));
  for (const { id } of [...mirror.containers(), ...mirror.sandboxes()]) if (!ids.has(id)) mirror.remove(id);
  const limiter = createLimiter(MOST_INSPECTIONS);
  const changed = listed.filter((one) => !isCurrent(mirror, one));
  await Promise.all(changed.map(({ id }) => limiter.run(() => mirror.settle(id))));
}

/** Reports whether the record agrees with a list. */
function isCurrent(mirror: Mirror, { id, isRunning }: ListedContainer): boolean {
  const record = mirror.get(id);
  if (record === undefined) return false;
  return record.kind === 'sandbox'
    ? record.isReady === isRunning
    : (record.phase === 'running') === isRunning;
}

export function createDockerLink(deps: FollowDeps): DockerLink {
  const { clock, log, client, mirror, node } = deps;
  const listeners = createListeners<[state: ChannelState]>('docker connection');
  const backoff = createBackoff(RETRY);
  const own: DockerFilters = { label: [`${NODE_LABEL}=${node}`] };
  let state: ChannelState = 'away';
  let lastError = '';

  function enter(next: ChannelState): void {
    if (state === next) return;
    state = next;
    listeners.notify(next);
  }

  async function follow(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const ended = AbortSignal.any([signal, stop.signal]);
    const early: DockerEvent[] = [];
    const subscribed = Promise.withResolvers<void>();
    const filters = { ...own, type: ['container'], event: ACTIONS };
    let isCurrentNow = false;
    const events = (async () => {
      for await (const event of client.events(filters, subscribed.resolve, ended)) {
        if (isCurrentNow) mirror.applyEvent(event);
        else early.push(event);
      }
      throw new Error('docker ended the stream of events');
    })();
    events.catch(subscribed.reject);
    try {
      await subscribed.promise;
      deps.onInfo(await client.info());
      await reconcile(deps, own);
      for (const event of early) mirror.applyEvent(event);
      isCurrentNow = true;
      lastError = '';
      enter('connected');
      deps.onCurrent();
      await events;
    } finally {
      stop.abort(new Error('connection to docker closed'));
      enter('away');
    }
  }

  return {
    state: () => state,
    onStateChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async run(signal) {
      while (!signal.aborted) {
        try {
          await follow(signal);
        } catch (thrown) {
          if (signal.aborted) return;
          const err = asError(thrown);
          // Repeated attempts fail alike for as long as docker is stopped.
          if (err.message !== lastError) log.warn({ err }, 'Docker not reachable; retrying');
          lastError = err.message;
          await sleep(clock, backoff.fail('', clock.now()), signal).catch(() => undefined);
        }
      }
    },
  };
}
