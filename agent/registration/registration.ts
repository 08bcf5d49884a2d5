/** Node registration: registers the node, renews its lease and reports its status. An unavailable or
 *  rejecting server never affects the pods. When the agent stops, the last reported status stays: the agent
 *  may be back soon, and controllers detect an expired lease otherwise. */

import type { Node } from '#api/gen/core-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ApiClient } from '../api-client/client.ts';
import type { ServerContact } from '../api-client/server-contact.ts';
import type { MachineReader } from '../machine/read-machine.ts';
import { initialNode } from './initial-node.ts';
import { runLeaseRenewal } from './lease-renewal.ts';
import { createNodeFollower, type NodeFollower } from './node-follower.ts';
import type { NodeEvent } from './node-status.ts';
import { registerNode } from './register.ts';
import { createRuntimeState, type RuntimeReport, type RuntimeState } from './runtime-state.ts';
import type { RegistrationSettings } from './settings.ts';
import { createStatusDecider, type StatusDecider, type StatusSources } from './status-decider.ts';
import { createStatusReporter, type StatusReporter } from './status-reporter.ts';

export interface NodeRegistrationDeps extends StatusSources {
  /** Rate-limited by `--plat-api-qps`. */
  readonly api: Pick<ApiClient, 'create' | 'get' | 'patch' | 'list' | 'watch'>;
  /** Not rate-limited, on dedicated connections, with a short timeout. */
  readonly heartbeat: Pick<ApiClient, 'create' | 'get' | 'update' | 'patch'>;
  /** Shared by all clients of the server, so that an outage is logged once. */
  readonly contact: ServerContact;
  readonly clock: Clock;
  readonly log: Logger;
  readonly readMachine: MachineReader;
  readonly readRuntime: (signal: AbortSignal) => Promise<RuntimeReport>;
  readonly event: (event: NodeEvent) => void;
  /** Called when the server has stored the node. */
  readonly registered?: () => void;
  /** Called with each status stored by the server, which lists volumes in use and attached ones. */
  readonly reported?: (node: Node) => void;
}

export interface NodeRegistration {
  /** Runs until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Last state known from the server; undefined while the node does not exist. */
  readonly node: () => Node | undefined;
  /** Resolves once the node exists; rejects with the reason of the signal. */
  readonly whenNode: (signal: AbortSignal) => Promise<Node>;
  /** Calls the listener at each change of the node. Returns a function that unsubscribes. */
  readonly onChange: (listener: (node: Node | undefined) => void) => () => void;
  /** Triggers a report after a change of reported facts, such as node pressure. */
  readonly wake: () => void;
  /** Triggers a check after the runtime has become available or unavailable. */
  readonly runtimeChanged: () => void;
}

/** Time that an unresponsive runtime may delay the registration, in ms. */
const RUNTIME_TIMEOUT_MS = 10_000;
/** Not a valid condition status. */
const NEVER_REPORTED = '';

const readyStatus = (node: Node | undefined): string | undefined =>
  node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;

interface Parts {
  readonly follower: NodeFollower;
  readonly runtime: RuntimeState;
  readonly decide: StatusDecider;
  readonly reporter: StatusReporter;
}

function createParts(
  deps: NodeRegistrationDeps,
  settings: RegistrationSettings,
  emit: (events: readonly NodeEvent[]) => void,
): Parts {
  const { clock, log, contact, api, heartbeat } = deps;
  const { nodeName, vocabulary, updateMs, reportMs, mostImages } = settings;
  const follower = createNodeFollower({ client: api, clock, log }, { nodeName, vocabulary });
  const runtime = createRuntimeState({ clock, log, read: deps.readRuntime });
  const decide = createStatusDecider({ ...deps, runtime }, { rules: settings.status, mostImages });
  let lastReady: string | undefined = NEVER_REPORTED;
  const reporter = createStatusReporter(
    {
      client: heartbeat,
      clock,
      log,
      contact,
      node: follower.current,
      note: follower.note,
      decide,
      emit,
      reported: (node) => {
        lastReady = readyStatus(node);
        deps.reported?.(node);
      },
    },
    { nodeName, vocabulary, updateMs, reportMs },
  );
  runtime.onChange(reporter.wake);
  contact.onReturn(reporter.wake);
  // A node that appeared, or whose readiness was changed by others, is corrected at once.
  follower.onChange((node) => {
    if (readyStatus(node) !== lastReady) reporter.wake();
  });
  return { follower, runtime, decide, reporter };
}

export function createNodeRegistration(
  deps: NodeRegistrationDeps,
  settings: RegistrationSettings,
): NodeRegistration {
  const { clock, log, contact, api, heartbeat } = deps;
  const { vocabulary } = settings;
  const emit = (events: readonly NodeEvent[]): void => events.forEach(deps.event);
  const { follower, runtime, decide, reporter } = createParts(deps, settings, emit);

  async function initial(): Promise<Node> {
    const { architecture } = await deps.readMachine();
    return initialNode({ ...settings.identity, architecture });
  }

  async function register(signal: AbortSignal): Promise<void> {
    if (!settings.registers) return;
    const { extended, registered } = deps;
    const registerDeps = {
      client: api,
      clock,
      log,
      contact,
      initial,
      decide,
      emit,
      ...(extended === undefined ? {} : { extended }),
      ...(registered === undefined ? {} : { registered }),
    };
    try {
      follower.note(await registerNode(registerDeps, vocabulary, signal));
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }

  /** Waits for the runtime status before the first report, within a limit: the restart of an agent must not
   *  make a ready node appear to fail. */
  async function runtimeKnown(signal: AbortSignal): Promise<void> {
    const known = Promise.withResolvers<void>();
    const end = runtime.onChange(() => {
      if (runtime.version() !== '') known.resolve();
    });
    const enough = new AbortController();
    const timeout = sleep(clock, RUNTIME_TIMEOUT_MS, AbortSignal.any([signal, enough.signal]));
    await Promise.race([known.promise, timeout.catch(() => undefined)]);
    enough.abort();
    end();
  }

  let started: AbortSignal | undefined;
  async function run(signal: AbortSignal): Promise<void> {
    started = signal;
    emit([{ type: 'Normal', reason: 'Starting', message: `Starting ${settings.status.names.agent}.` }]);
    const known = runtimeKnown(signal);
    const polling = runtime.run(signal);
    await known;
    const lease = { lease: settings.lease, vocabulary };
    await Promise.all([
      polling,
      follower.run(signal),
      // The status is reported only after the registration: otherwise both would find the same changes and
      // emit events twice.
      register(signal).then(() => reporter.run(signal)),
      runLeaseRenewal({ client: heartbeat, clock, contact, whenNode: follower.whenThere }, lease, signal),
    ]);
  }

  return {
    node: follower.current,
    whenNode: follower.whenThere,
    onChange: follower.onChange,
    wake: reporter.wake,
    runtimeChanged: () => void (started === undefined ? undefined : runtime.poll(started)),
    run,
  };
}
