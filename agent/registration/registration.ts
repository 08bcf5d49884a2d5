/** The node on the API server: registered, alive by its lease, its status told. Away or refusing, the server never
 *  disturbs what runs here. When the agent stops, the node stays as it was last told: it may be back in a moment, and
 *  whoever watches its lease finds out if it isn't. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Node } from '#api/schema/gen/core-v1.ts';
import type { ApiClient } from '../api-client/client.ts';
import type { ServerContact } from '../api-client/server-contact.ts';
import { initialNode } from './initial-node.ts';
import { runLeaseKeeper } from './lease-keeper.ts';
import type { MachineReader } from './machine/read-machine.ts';
import { createNodeFollower, type NodeFollower } from './node-follower.ts';
import type { NodeEvent } from './node-status.ts';
import { registerNode } from './register.ts';
import { createRuntimeState, type RuntimeReport, type RuntimeState } from './runtime-state.ts';
import type { RegistrationSettings } from './settings.ts';
import { createStatusDecider, type StatusDecider, type StatusSources } from './status-decider.ts';
import { createStatusReporter, type StatusReporter } from './status-reporter.ts';

export interface NodeRegistrationDeps extends StatusSources {
  /** Paced by `--plat-api-qps`. */
  readonly api: Pick<ApiClient, 'create' | 'get' | 'patch' | 'list' | 'watch'>;
  /** Not paced, on connections of its own, with a short time limit. */
  readonly heartbeat: Pick<ApiClient, 'create' | 'get' | 'update' | 'patch'>;
  /** Shared by all that talk to the server, so that its absence is told once. */
  readonly contact: ServerContact;
  readonly clock: Clock;
  readonly log: Logger;
  readonly readMachine: MachineReader;
  readonly readRuntime: (signal: AbortSignal) => Promise<RuntimeReport>;
  readonly event: (event: NodeEvent) => void;
  /** Told when the server has the node. */
  readonly registered?: () => void;
  /** Told of each status that the server has: which volumes it knows to be in use, and which are attached. */
  readonly reported?: (node: Node) => void;
}

export interface NodeRegistration {
  /** Goes on until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** The node as the server last told; undefined while there is none. */
  readonly node: () => Node | undefined;
  /** Resolves as soon as there is a node; rejects with the signal's reason. */
  readonly whenNode: (signal: AbortSignal) => Promise<Node>;
  /** Calls the listener at each change of the node. Returns the function that ends this. */
  readonly onChange: (listener: (node: Node | undefined) => void) => () => void;
  /** To be called when what the node tells has changed, such as a pressure. */
  readonly wake: () => void;
  /** To be called when the runtime came or went. */
  readonly runtimeChanged: () => void;
}

/** How long a runtime that doesn't answer holds up registration, in ms. */
const RUNTIME_PATIENCE_MS = 10_000;
/** No status of a condition. */
const NEVER_REPORTED = '';

const readyWord = (node: Node | undefined): string | undefined =>
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
  tell: (events: readonly NodeEvent[]) => void,
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
      tell,
      reported: (node) => {
        lastReady = readyWord(node);
        deps.reported?.(node);
      },
    },
    { nodeName, vocabulary, updateMs, reportMs },
  );
  runtime.onChange(reporter.wake);
  contact.onReturn(reporter.wake);
  // A node that came, or whose readiness somebody else changed, is put right at once.
  follower.onChange((node) => {
    if (readyWord(node) !== lastReady) reporter.wake();
  });
  return { follower, runtime, decide, reporter };
}

export function createNodeRegistration(
  deps: NodeRegistrationDeps,
  settings: RegistrationSettings,
): NodeRegistration {
  const { clock, log, contact, api, heartbeat } = deps;
  const { vocabulary } = settings;
  const tell = (events: readonly NodeEvent[]): void => events.forEach(deps.event);
  const { follower, runtime, decide, reporter } = createParts(deps, settings, tell);

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
      tell,
      ...(extended === undefined ? {} : { extended }),
      ...(registered === undefined ? {} : { registered }),
    };
    try {
      follower.note(await registerNode(registerDeps, vocabulary, signal));
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }

  /** The first report shall say what the runtime is, unless the runtime takes its time: a node that was ready must not
   *  seem to fail because its agent began anew. */
  async function runtimeKnown(signal: AbortSignal): Promise<void> {
    const known = Promise.withResolvers<void>();
    const end = runtime.onChange(() => {
      if (runtime.version() !== '') known.resolve();
    });
    const enough = new AbortController();
    const patience = sleep(clock, RUNTIME_PATIENCE_MS, AbortSignal.any([signal, enough.signal]));
    await Promise.race([known.promise, patience.catch(() => undefined)]);
    enough.abort();
    end();
  }

  let started: AbortSignal | undefined;
  async function run(signal: AbortSignal): Promise<void> {
    started = signal;
    tell([{ type: 'Normal', reason: 'Starting', message: `Starting ${settings.status.words.agent}.` }]);
    const known = runtimeKnown(signal);
    const asking = runtime.run(signal);
    await known;
    const lease = { lease: settings.lease, vocabulary };
    await Promise.all([
      asking,
      follower.run(signal),
      // Its status is told of a node that is whole: otherwise both would find the same changes, and tell them twice.
      register(signal).then(() => reporter.run(signal)),
      runLeaseKeeper({ client: heartbeat, clock, contact, whenNode: follower.whenThere }, lease, signal),
    ]);
  }

  return {
    node: follower.current,
    whenNode: follower.whenThere,
    onChange: follower.onChange,
    wake: reporter.wake,
    runtimeChanged: () => void (started === undefined ? undefined : runtime.look(started)),
    run,
  };
}
